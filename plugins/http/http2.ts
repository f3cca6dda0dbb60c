/** Requests over HTTP/2 that a server of a host passes on in the form of HTTP/1. */
import type { IncomingMessage, ServerResponse } from "node:http";

export const isHttp2 = ({ httpVersionMajor }: IncomingMessage): boolean => httpVersionMajor >= 2;

/** Headers of a connection, which HTTP/2 does not have. */
const connectionHeaders: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "transfer-encoding",
]);

type Headers = Record<string, unknown> | undefined;

const withoutConnection = (headers: Headers): Headers =>
  headers &&
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => !connectionHeaders.has(name.toLowerCase())),
  );

/** Gives a request its `Host`, and leaves out the headers of a connection in its response. */
export function adaptHttp2(request: IncomingMessage, response: ServerResponse): void {
  const { headers } = request;
  const authority = headers[":authority"];
  if (typeof authority === "string") headers.host ??= authority;
  const writeHead = response.writeHead.bind(response) as (...given: unknown[]) => ServerResponse;
  const adapted = (status: number, second?: unknown, third?: unknown): ServerResponse =>
    writeHead(status, withoutConnection((typeof second === "string" ? third : second) as Headers));
  response.writeHead = adapted as typeof response.writeHead;
}
