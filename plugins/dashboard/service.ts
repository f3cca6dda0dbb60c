import type { IncomingMessage, ServerResponse } from "node:http";
import type { Identity } from "../http/index.ts";

export interface DashboardApi {
  /** Serves `/api/x/<name>/…`; all checks of the dashboard have passed when `handle` runs. `signIn` is absent for a Bearer. */
  route(name: string, handle: (q: IncomingMessage, r: ServerResponse, signIn: Identity | undefined) => void): void;
}
