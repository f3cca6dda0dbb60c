import { errorTable } from "../../kernel/index.ts";

export const httpErrors = errorTable({
  HTTP_SERVER: (what: string, fix: string) => `http({ server }) got ${what}: ${fix}.`,
  HTTP_PORT_IN_USE: (port: number, by: string, remedy: string) =>
    `port ${port} is in use${by}; ${remedy}`,
  HTTP_PORT_FORBIDDEN: (port: number, remedy: string) =>
    `port ${port} may not be opened by this user (ports under 1024 need the right to); ${remedy}`,
  HTTP_ADDRESS_UNAVAILABLE: (host: string) =>
    `The address "${host}" does not belong to this machine; leave the setting "host" out to listen on 127.0.0.1.`,
  HTTP_LISTEN_FAILED: (port: number, reason: string) =>
    `Port ${port} could not be opened (${reason}).`,
  HTTP_TLS_UNREADABLE: (path: string, reason: string) =>
    `The TLS file "${path}" could not be used (${reason}).`,
  HTTP_BASE_PATH: (path: string) =>
    `"${path}" is not a base path: letters, digits, "-", "_", "." and "~" between slashes, such as "/door".`,
  HTTP_ROUTE_TAKEN: (kind: string, path: string) => `Two plugins want the ${kind} "${path}".`,
  HTTP_LISTENER_TAKEN: (listener: string) => `The listener "${listener}" was asked for twice.`,
});
