/** Reads what a request says about itself: its target in normal form, and its peer (client address,
 *  host and TLS, with trusted forwarded headers). */
import type { IncomingMessage } from "node:http";
import { isIP, type Socket } from "node:net";
import type { Log } from "../../kernel/index.ts";
import { addressKey, createNetworkMatcher, noAddress, normaliseAddress } from "./addresses.ts";
import type { Peer } from "./service.ts";

const segmentPattern = /^[\w~-][\w.~-]*$|^\.[\w~-][\w.~-]*$/;

/** Accepts "", "/", "/agent", "agent/" and "/a/b". */
export function isBasePath(path: string): boolean {
  const inner = path.replace(/^\//, "").replace(/\/$/, "");
  return inner === ""
    ? path.length <= 1
    : inner.split("/").every((part) => segmentPattern.test(part));
}

/** Returns "" or a path such as "/agent": with a leading slash, without a trailing one. */
export function normaliseBasePath(path: string): string {
  const inner = path.replace(/^\/+|(?<!\/)\/+$/g, "");
  return inner === "" ? "" : `/${inner}`;
}

/** Puts the base path before a path. */
export const fullPath = (basePath: string, path: string): string =>
  path === "/" ? basePath || "/" : `${basePath}${path}`;

/** A parsed request target. `host` is set if the target was in absolute form. */
export interface RequestTarget {
  readonly path: string;
  /** With the question mark, as received. */
  readonly search: string;
  readonly host?: string;
}

/** Encodes unsafe characters and decodes needless escapes, so that each path has one form. */
function normaliseEscapes(path: string): string {
  const escape = (sign: string): string => `%${sign.charCodeAt(0).toString(16).padStart(2, "0")}`;
  const encoded = path.replace(/[^\x21-\x7e]|[\\"<>^`{|}#]/g, escape);
  return encoded.replace(/%[0-9a-f]{2}/gi, (escaped) => {
    const sign = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
    return /[\w.~-]/.test(sign) ? sign : escaped.toUpperCase();
  });
}

function resolveDotSegments(path: string): string {
  const segments: string[] = [];
  const parts = path.split("/").filter((part) => part !== "");
  for (const part of parts) {
    if (part === "..") segments.pop();
    else if (part !== ".") segments.push(part);
  }
  const directory = path.endsWith("/") || parts.at(-1) === "." || parts.at(-1) === "..";
  return segments.length === 0 ? "/" : `/${segments.join("/")}${directory ? "/" : ""}`;
}

/**
 * Parses a request target. The path has no `.`, `..` or empty segments and no needless escapes.
 *
 * @returns Undefined if the target is not valid.
 */
export function parseTarget(target: string): RequestTarget | undefined {
  const plain = /^((?:\/[\w~-]+)+)(\?.*)?$/.exec(target); // most requests: nothing to normalise
  if (plain) return { path: plain[1]!, search: plain[2] ?? "" };
  const absolute = target.match(/^https?:\/\/([^/?#@]+)((?:[/?#].*)?)$/i);
  const [, host, rest = ""] = absolute ?? [];
  const local = absolute ? (rest.startsWith("/") ? rest : `/${rest}`) : target;
  if (!local.startsWith("/")) return undefined;
  const queryStart = local.indexOf("?");
  const path = queryStart < 0 ? local : local.slice(0, queryStart);
  const search = queryStart < 0 ? "" : local.slice(queryStart);
  if (path.includes("#") || /%(?![0-9a-f]{2})/i.test(path)) return undefined;
  const normal = resolveDotSegments(normaliseEscapes(path));
  try {
    decodeURIComponent(normal);
  } catch {
    return undefined;
  }
  return { path: normal, search, ...(host === undefined ? {} : { host }) };
}

/** @returns The path without the base path, or undefined if it is outside the base path. */
export function stripBasePath(basePath: string, path: string): string | undefined {
  if (basePath === "") return path;
  if (path === basePath) return "/";
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : undefined;
}

const forwardedNames = ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"] as const;
const maxWarnings = 1_000;
/** Schemes with TLS. Some proxies report the scheme of the upgrade: `wss` or `ws`. */
const secureSchemes: ReadonlySet<string> = new Set(["https", "wss"]);

/** Joins all lines of a header and splits the list. */
function headerList(request: IncomingMessage, name: (typeof forwardedNames)[number]): string[] {
  const value = request.headers[name];
  const text = Array.isArray(value) ? value.join(",") : (value ?? "");
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** Parses `1.2.3.4`, `1.2.3.4:80`, `[::1]:80` or `"[::1]"`. */
function parseForwardedAddress(part: string): string | undefined {
  const bare = part
    .replace(/^"(.*)"$/, "$1")
    .replace(/^\[(.*)\](?::\d+)?$/, "$1")
    .replace(/^([\d.]+):\d+$/, "$1");
  return isIP(bare) === 0 ? undefined : normaliseAddress(bare);
}

/** Creates a function that returns whether an address is in the currently set networks. */
export function createTrust(
  config: () => { readonly trusted_proxies: readonly string[] },
): (address: string) => boolean {
  let networks: readonly string[] = [];
  let inNetworks = createNetworkMatcher([]);
  return (address) => {
    const { trusted_proxies } = config();
    if (networks !== trusted_proxies) {
      networks = trusted_proxies;
      inNetworks = createNetworkMatcher(networks);
    }
    return networks.length > 0 && inNetworks(address);
  };
}

/**
 * Creates the peer resolver. Forwarded headers are accepted only from a peer in `trusted_proxies`,
 * which must set or remove all three of `X-Forwarded-For`, `-Proto` and `-Host`. `Forwarded`
 * (RFC 7239) is ignored: if a proxy sets one family of headers and forwards the other unchanged,
 * any client could choose its address.
 */
export function createPeerResolver(
  isTrusted: (address: string) => boolean,
  log: Log,
): (request: IncomingMessage) => Peer {
  const known = new WeakMap<IncomingMessage, Peer>();
  const directs = new WeakMap<Socket, Pick<Peer, "address" | "key">>();
  const warned = new Set<string>();

  /** Returns the peer of the socket. The result is cached per socket, except for upgrades, because
   *  they are the last request of their connection. */
  function directOf({ socket, headers }: IncomingMessage): Pick<Peer, "address" | "key"> {
    const before = directs.get(socket);
    if (before) return before;
    const address =
      socket.remoteAddress === undefined ? noAddress : normaliseAddress(socket.remoteAddress);
    const direct = { address, key: addressKey(address) };
    if (headers.upgrade === undefined) directs.set(socket, direct);
    return direct;
  }

  /** Returns the rightmost address that is not a trusted proxy; an invalid entry ends the chain. */
  function clientAddress(request: IncomingMessage, direct: string): string {
    let address = direct;
    for (const part of headerList(request, "x-forwarded-for").reverse()) {
      const previous = parseForwardedAddress(part);
      if (previous === undefined) break;
      address = previous;
      if (!isTrusted(previous)) break;
    }
    return address;
  }

  function warn(request: IncomingMessage, direct: string): void {
    const { headers } = request;
    if (!forwardedNames.some((name) => headers[name] !== undefined)) return;
    if (warned.has(direct) || warned.size >= maxWarnings) return;
    warned.add(direct);
    const text = "ignored forwarded headers from a peer that is not in the setting trusted_proxies";
    log.warn({ address: direct, setting: "trusted_proxies" }, text);
  }

  function resolve(request: IncomingMessage): Peer {
    const { socket } = request;
    const direct = directOf(request);
    const encrypted = "encrypted" in socket && socket.encrypted === true;
    const host = (request.headers.host ?? "").toLowerCase();
    if (!isTrusted(direct.address)) {
      warn(request, direct.address);
      return { address: direct.address, key: direct.key, secure: encrypted, host };
    }
    const address = clientAddress(request, direct.address);
    const scheme = headerList(request, "x-forwarded-proto").at(-1)?.toLowerCase();
    return {
      address,
      key: addressKey(address),
      secure: scheme === undefined ? encrypted : secureSchemes.has(scheme),
      host: headerList(request, "x-forwarded-host").at(-1)?.toLowerCase() ?? host,
    };
  }

  return (request) => {
    const before = known.get(request);
    if (before) return before;
    const peer = resolve(request);
    known.set(request, peer);
    return peer;
  };
}
