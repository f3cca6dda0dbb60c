import type { IncomingMessage, ServerResponse } from "node:http";
import type { Awaitable } from "../../kernel/index.ts";
import type { Identity } from "../http/index.ts";

export interface DashboardApi {
  /** Serves `/api/x/<name>/…`; all checks of the dashboard have passed when `handle` runs. `signIn` is absent for a
   *  Bearer. The body is unread; one announced as over 1 MiB was refused. A throw or rejection is answered with 500. */
  route(name: string, handle: RouteHandler): void;
}
export type RouteHandler = (q: IncomingMessage, r: ServerResponse, signIn: Identity | undefined) => Awaitable<void>;

export interface SignInLinks {
  /** A fresh one-time link, good for five minutes. `path` signs in when opened; `copyPath` shows a button first,
   *  since chat programs open the links they preview. Both come with the base path. */
  mint(): { path: string; copyPath: string; expiresAt: number };
}
