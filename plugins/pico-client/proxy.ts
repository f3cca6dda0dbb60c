// Finds the proxy for an address and opens tunnels through it.
import { request, type ClientRequestArgs } from "node:http";
import { request as secureRequest } from "node:https";
import { isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { isEncrypted, isInNoProxy, isThisMachine } from "./direct-hosts.ts";
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

/**
 * Finds the proxy for an address: `HTTPS_PROXY` for wss:, `HTTP_PROXY` for ws:, else `ALL_PROXY`.
 *
 * @returns Undefined if there is none, the host is this machine, or `NO_PROXY` names the host.
 * @throws PICO_CLIENT_BAD_PROXY if the variable is not the address of a proxy.
 */
export function proxyFor(address: string, env: ProxyVariables): URL | undefined {
  const url = new URL(address);
  const name = isEncrypted(url) ? "HTTPS_PROXY" : "HTTP_PROXY";
  const found = readVariable(env, name) ?? readVariable(env, "ALL_PROXY");
  if (!found || isThisMachine(url)) return undefined;
  if (isInNoProxy(url, readVariable(env, "NO_PROXY")?.[0] ?? "")) return undefined;
  const [value, variable] = found;
  const text = value.includes("://") ? value : `http://${value}`;
  const proxy = URL.canParse(text) && /^https?:/.test(text) ? new URL(text) : undefined;
  if (!proxy || credentialsOf(proxy) === undefined)
    throw picoClientErrors.PICO_CLIENT_BAD_PROXY(variable);
  return proxy;
}

/** @returns `""` if there are none; undefined if they have a malformed percent escape. */
function credentialsOf({ username, password }: URL): string | undefined {
  try {
    return username && `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  } catch {
    return undefined;
  }
}

type Connected = (error: Error | null, socket?: Socket) => void;
type Connect = (options: ClientRequestArgs, connected: Connected) => undefined;

interface TunnelOptions {
  readonly ca: readonly string[] | undefined;
  /** Cancels the request and closes the tunnel, also if the proxy never responds. */
  readonly signal: AbortSignal;
}

/** Creates the option `createConnection` of a request: connects through the proxy (CONNECT). */
export const createTunnel =
  (proxy: URL, target: URL, { ca, signal }: TunnelOptions): Connect =>
  (_, connected) => {
    const isSecure = target.protocol === "wss:";
    const authority = `${target.hostname}:${target.port || (isSecure ? 443 : 80)}`;
    const credentials = credentialsOf(proxy);
    const tunnelRequest = (proxy.protocol === "https:" ? secureRequest : request)({
      host: proxy.hostname.replace(/^\[|\]$/g, ""),
      port: proxy.port || (proxy.protocol === "https:" ? 443 : 80),
      method: "CONNECT",
      path: authority,
      agent: false,
      signal,
      headers: {
        Host: authority,
        ...(credentials && {
          "Proxy-Authorization": `Basic ${Buffer.from(credentials).toString("base64")}`,
        }),
      },
    });
    tunnelRequest.once("connect", ({ statusCode }, socket: Socket) => {
      // The request no longer owns the socket, so its own signal does not close it.
      signal.addEventListener("abort", () => socket.destroy(), { once: true });
      if (statusCode !== 200) {
        socket.destroy();
        return connected(
          Object.assign(new Error(`the proxy responded with status ${statusCode}`), {
            code: "PROXY_REFUSED",
          }),
        );
      }
      if (!isSecure) return connected(null, socket);
      const host = target.hostname.replace(/^\[|\]$/g, "");
      const serverName = isIP(host) === 0 && { servername: host }; // RFC 6066 allows names only
      const secure = connectTls({ socket, host, ...serverName, ...(ca && { ca: [...ca] }) }, () =>
        connected(null, secure),
      );
      secure.once("error", connected);
    });
    tunnelRequest.once("error", connected);
    tunnelRequest.end();
  };
