import type { Log } from "../../kernel/index.ts";
import type { Http } from "../http/index.ts";
import type { Tokens } from "../token-store/index.ts";
import type { PicoServerConfig } from "./config.ts";
import { picoErrors } from "./errors.ts";

/** Files, listeners and requests of the process beside the connections. */
export const reservedDescriptors = 64;

/** What the limit of open files would have to be for so many connections; undefined: it is enough, or nobody knows. */
export function missingDescriptors(
  connections: number,
  has: number | undefined,
): { has: number; needs: number } | undefined {
  const needs = connections + reservedDescriptors;
  return has === undefined || has >= needs ? undefined : { has, needs };
}

interface CheckDependencies {
  readonly tokens: Pick<Tokens, "info" | "describe">;
  readonly http: Pick<Http, "openFiles">;
  readonly log: Log;
  readonly envPrefix: string;
}

/** Whether the channel can work with these settings. Rejects `PICO_TOKEN_MISSING`, `PICO_DESCRIPTORS`. */
export async function assertSettings(
  next: PicoServerConfig,
  { tokens, http, log, envPrefix }: CheckDependencies,
): Promise<void> {
  const { enabled, ping_interval, read_timeout, max_connections } = next;
  if (!enabled) return;
  if (tokens.info("pico").source === "none") {
    // Only a token store that reads the environment names a variable.
    const { variable } = await tokens.describe("pico");
    throw picoErrors.PICO_TOKEN_MISSING(variable === undefined ? undefined : envPrefix);
  }
  const files = missingDescriptors(max_connections, await http.openFiles());
  if (files) throw picoErrors.PICO_DESCRIPTORS(max_connections, files.has, files.needs);
  if (ping_interval < read_timeout) return;
  const text = "ping_interval is not below read_timeout: pings go out every half read_timeout";
  log.warn({ ping_interval, read_timeout }, text);
}
