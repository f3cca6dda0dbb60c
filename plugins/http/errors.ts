/** Errors of the HTTP plugin. */
import { errorTable } from "../../kernel/index.ts";

export const httpErrors = errorTable({
  HTTP_SERVER: (what: string, fix: string) => `http({ server }) got ${what}: ${fix}.`,
  HTTP_PORT_IN_USE: (port: number, by: string, remedy: string) =>
    `port ${port} is in use${by}; ${remedy}`,
  HTTP_PORT_FORBIDDEN: (port: number, remedy: string) =>
    `this user may not open port ${port} (ports below 1024 need a privilege); ${remedy}`,
  HTTP_ADDRESS_UNAVAILABLE: (host: string) =>
    `The address "${host}" does not belong to this machine; ` +
    'remove the setting "host" to listen on 127.0.0.1.',
  HTTP_LISTEN_FAILED: (port: number, reason: string) =>
    `Port ${port} could not be opened (${reason}).`,
  HTTP_TLS_UNREADABLE: (path: string, reason: string) =>
    `The TLS file "${path}" could not be used (${reason}).`,
  HTTP_BASE_PATH: (path: string) =>
    `"${path}" is not a base path: use letters, digits, "-", "_", "." and "~" between slashes, ` +
    'such as "/agent".',
  HTTP_HOST_NAME: (name: string) =>
    `http({ hostName }) got "${name}": pass a host name without scheme and port, such as ` +
    '"chat.example.org", together with server.',
  HTTP_HOST_PATH: () =>
    "A plugin, such as the dashboard, serves every path, and the server belongs to your program: " +
    'pass http({ server, basePath: "/chat" }), or { server, hostName } for a host name of its own.',
  HTTP_PATH_TAKEN: (path: string) =>
    `Another kernel on this server already serves "${path}": ` +
    "pass another basePath to http({ server, basePath }).",
  HTTP_ROUTE_TAKEN: (kind: string, path: string) =>
    `Two plugins register the ${kind} "${path}"; remove one of them.`,
  HTTP_LISTENER_TAKEN: (listener: string) =>
    `Two plugins open the listener "${listener}"; remove one of them.`,
});
