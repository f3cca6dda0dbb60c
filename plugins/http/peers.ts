/** Resolves the peer of a request: client address, host and TLS, with trusted forwarded headers. */
import type { IncomingMessage } from "node:http";
import { isIP, type Socket } from "node:net";
import type { Log } from "../../kernel/index.ts";
import { addressKey, createNetworkMatcher, noAddress, normaliseAddress } from "./addresses.ts";
import type { Peer } from "./service.ts";

const forwardedNames = ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"] as const;
const maxWarnings = 1_000;

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
    if (warned.has(direct) || warned.size >= maxWarnings) return;
    if (!forwardedNames.some((name) => request.headers[name] !== undefined)) return;
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
      return { ...direct, secure: encrypted, host };
    }
    const address = clientAddress(request, direct.address);
    const scheme = headerList(request, "x-forwarded-proto").at(-1)?.toLowerCase();
    return {
      address,
      key: addressKey(address),
      secure: scheme === undefined ? encrypted : scheme === "https",
      host: headerList(request, "x-forwarded-host").at(-1)?.toLowerCase() ?? host,
    };
  }

  return (request) => {
    const peer = known.get(request) ?? resolve(request);
    known.set(request, peer);
    return peer;
  };
}
