import { request, type ClientRequestArgs } from "node:http";
import { request as secureRequest } from "node:https";
import { isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { picoClientErrors } from "./errors.ts";

export type ProxyVariables = Readonly<Record<string, string | undefined>>;

const readVariable = (
  env: ProxyVariables,
  name: string,
): [value: string, name: string] | undefined => {
  for (const known of [name.toLowerCase(), name]) {
    const value = env[known]?.trim();
    if (value) return [value, known];
  }
  return undefined;
};

/** The proxy for this address: `HTTPS_PROXY` for wss:, `HTTP_PROXY` for ws:, else `ALL_PROXY`; none where `NO_PROXY`
 *  names the host. Throws `PICO_CLIENT_BAD_PROXY`. */
export function proxyFor(address: string, env: ProxyVariables): URL | undefined {
  const url = new URL(address);
  const isSecure = url.protocol === "wss:" || url.protocol === "https:";
  const found =
    readVariable(env, isSecure ? "HTTPS_PROXY" : "HTTP_PROXY") ?? readVariable(env, "ALL_PROXY");
  if (!found || isExempt(url, readVariable(env, "NO_PROXY")?.[0] ?? "")) return undefined;
  const [value, variable] = found;
  const text = value.includes("://") ? value : `http://${value}`;
  const proxy = URL.canParse(text) && /^https?:/.test(text) ? new URL(text) : undefined;
  if (!proxy || credentialsOf(proxy) === undefined)
    throw picoClientErrors.PICO_CLIENT_BAD_PROXY(variable);
  return proxy;
}

/** `""`: none; undefined: a percent sign in them is no escape. */
function credentialsOf({ username, password }: URL): string | undefined {
  try {
    return username && `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  } catch {
    return undefined;
  }
}

/** `*`, or names that are the host or end it; with `:port` for that port only. */
function isExempt({ hostname, port, protocol }: URL, list: string): boolean {
  const own = port || (/s:$/.test(protocol) ? "443" : "80");
  return list
    .split(/[\s,]+/)
    .filter(Boolean)
    .some((item) => {
      if (item === "*") return true;
      const [, name = "", wanted] = /^(.*?)(?::(\d+))?$/.exec(item.toLowerCase()) ?? [];
      const bare = name.replace(/^\*?\./, "");
      return (
        (wanted === undefined || wanted === own) &&
        (hostname === bare || hostname.endsWith(`.${bare}`))
      );
    });
}

type Connected = (error: Error | null, socket?: Socket) => void;
type Connect = (options: ClientRequestArgs, connected: Connected) => undefined;

export interface TunnelOptions {
  readonly ca: readonly string[] | undefined;
  /** Nobody wants it any more: a proxy that does not answer is not waited for. */
  readonly left: AbortSignal;
}

/** Connects through a tunnel of the proxy (CONNECT), for the option `createConnection` of a request. */
export const createTunnel =
  (proxy: URL, target: URL, { ca, left }: TunnelOptions): Connect =>
  (_, connected) => {
    const isSecure = target.protocol === "wss:";
    const place = `${target.hostname}:${target.port || (isSecure ? 443 : 80)}`;
    const credentials = credentialsOf(proxy);
    const ask = (proxy.protocol === "https:" ? secureRequest : request)({
      host: proxy.hostname.replace(/^\[|\]$/g, ""),
      port: proxy.port || (proxy.protocol === "https:" ? 443 : 80),
      method: "CONNECT",
      path: place,
      agent: false,
      signal: left,
      headers: {
        Host: place,
        ...(credentials && {
          "Proxy-Authorization": `Basic ${Buffer.from(credentials).toString("base64")}`,
        }),
      },
    });
    ask.once("connect", ({ statusCode }, socket: Socket) => {
      left.addEventListener("abort", () => socket.destroy(), { once: true }); // the request has let go of it
      if (statusCode !== 200) {
        socket.destroy();
        return connected(
          Object.assign(new Error(`the proxy answered ${statusCode}`), { code: "PROXY_REFUSED" }),
        );
      }
      if (!isSecure) return connected(null, socket);
      const host = target.hostname.replace(/^\[|\]$/g, "");
      const named = isIP(host) === 0 && { servername: host }; // RFC 6066 knows names only
      const secure = connectTls({ socket, host, ...named, ...(ca && { ca: [...ca] }) }, () =>
        connected(null, secure),
      );
      secure.once("error", connected);
    });
    ask.once("error", connected);
    ask.end();
  };
