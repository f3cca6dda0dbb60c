// Checks at startup and on each change of the settings whether the channel can work with them.
import type { Log } from "../../kernel/index.ts";
import type { Http } from "../http/index.ts";
import type { Tokens } from "../token-store/index.ts";
import type { PicoServerConfig } from "./config.ts";
import { picoErrors } from "./errors.ts";

/** File descriptors reserved for files, listeners and HTTP requests. */
export const reservedDescriptors = 64;

/**
 * @returns The current and the required limit of open files; undefined if the limit suffices or is
 *   unknown.
 */
export function missingDescriptors(
  connections: number,
  has: number | undefined,
): { has: number; needs: number } | undefined {
  const needs = connections + reservedDescriptors;
  return has === undefined || has >= needs ? undefined : { has, needs };
}

export interface CheckDependencies {
  readonly tokens: Pick<Tokens, "info" | "describe">;
  readonly http: Pick<Http, "openFiles">;
  readonly log: Log;
  readonly envPrefix: string;
}

/**
 * @throws PICO_TOKEN_MISSING if the channel is enabled and has no token.
 * @throws PICO_DESCRIPTORS if the process may not open enough files.
 */
export async function assertSettings(
  next: PicoServerConfig,
  { tokens, http, log, envPrefix }: CheckDependencies,
): Promise<void> {
  const { enabled, ping_interval, read_timeout, max_connections } = next;
  if (!enabled) return;
  if (tokens.info("pico").source === "none") {
    // Only a token store that reads the environment knows a variable.
    const { variable } = await tokens.describe("pico");
    throw picoErrors.PICO_TOKEN_MISSING(variable === undefined ? undefined : envPrefix);
  }
  const files = missingDescriptors(max_connections, await http.openFiles());
  if (files) throw picoErrors.PICO_DESCRIPTORS(max_connections, files.has, files.needs);
  if (ping_interval < read_timeout) return;
  const text = "ping_interval is not below read_timeout, so pings are sent every read_timeout / 2";
  log.warn({ ping_interval, read_timeout }, text);
}
