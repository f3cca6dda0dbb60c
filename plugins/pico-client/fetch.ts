// GET requests to the server of a link: with its certificates and its proxy, as the WebSocket.
import { once } from "node:events";
import { request as plainRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as secureRequest } from "node:https";
import { Readable } from "node:stream";
import { rootCertificates } from "node:tls";
import { createTunnel, proxyFor, type ProxyVariables } from "./proxy.ts";

interface FetchOptions {
  readonly env: ProxyVariables;
  /** PEM; trusted in addition to the built-in certificates of Node. */
  readonly ca: string | undefined;
}

/** Creates a `fetch` for GET requests. It follows no redirects. */
export function createFetch({ env, ca }: FetchOptions): typeof globalThis.fetch {
  const trusted = ca === undefined ? undefined : [...rootCertificates, ca];
  return async (input, { headers, signal } = {}) => {
    const url = new URL(String(input));
    const target = new URL(url.href.replace(/^http/, "ws"));
    const proxy = proxyFor(target.href, env);
    const abort = signal ?? new AbortController().signal;
    const options: RequestOptions & { ca?: string[] } = {
      headers: Object.fromEntries(new Headers(headers)),
      // An agent would ignore `createConnection`.
      ...(!proxy && { agent: false }),
      signal: abort,
      ...(trusted && { ca: trusted }),
      ...(proxy && {
        createConnection: createTunnel(proxy, target, {
          ca: trusted,
          signal: abort,
        }) as unknown as NonNullable<RequestOptions["createConnection"]>,
      }),
    };
    const sent = (url.protocol === "https:" ? secureRequest : plainRequest)(url, options);
    sent.end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    sent.on("error", () => undefined); // An error after the response ends its body.
    return new Response(Readable.toWeb(response) as ReadableStream<Uint8Array>, {
      status: response.statusCode!,
      headers: { "content-type": response.headers["content-type"] ?? "" },
    });
  };
}
