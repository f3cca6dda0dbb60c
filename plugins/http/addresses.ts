/** IP addresses: normal form, limiter keys, networks, and the URLs of a server. */
import type { Server } from "node:http";
import { BlockList, isIPv6 as fitsIPv6, isIP, isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import { Server as TlsServer } from "node:tls";

/** Most addresses contain no colon; that check is faster than the regular expression of Node. */
const isIPv6 = (address: string): boolean => address.includes(":") && fitsIPv6(address);

/** Returns the eight groups of an IPv6 address. The caller must have checked it with `isIPv6`. */
function ipv6Groups(address: string): number[] {
  const dotted = address.match(/^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/);
  const [, lead = "", a, b, c, d] = dotted ?? [];
  const plain = dotted
    ? `${lead}${((+a! << 8) | +b!).toString(16)}:${((+c! << 8) | +d!).toString(16)}`
    : address;
  const [left = "", right] = plain.split("::");
  const head = left === "" ? [] : left.split(":");
  const tail = right === undefined || right === "" ? [] : right.split(":");
  const gap = right === undefined ? [] : Array<string>(8 - head.length - tail.length).fill("0");
  return [...head, ...gap, ...tail].map((group) => Number.parseInt(group, 16));
}

/** The address of the peer of a Unix socket, and of a closed connection. */
export const noAddress = "local";

/** Returns the normal form: without zone, and IPv4-mapped IPv6 addresses as IPv4. */
export function normaliseAddress(address: string): string {
  const bare = address.replace(/%.*$/, "").toLowerCase();
  if (!isIPv6(bare)) return bare;
  const groups = ipv6Groups(bare);
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (!mapped) return bare;
  return [groups[6]! >> 8, groups[6]! & 255, groups[7]! >> 8, groups[7]! & 255].join(".");
}

/** Returns the limiter key: an IPv4 address, or the /64 of an IPv6 address, because providers
 *  assign a whole /64 to one subscriber. */
export function addressKey(address: string): string {
  const normal = normaliseAddress(address);
  if (!isIPv6(normal)) return normal;
  const network = ipv6Groups(normal)
    .slice(0, 4)
    .map((group) => group.toString(16));
  return `${network.join(":")}::/64`;
}

/** Removes the brackets that an IPv6 address has in a URL. */
export const withoutBrackets = (host: string): string => host.replace(/^\[([^\]]*)\]$/, "$1");

/** Returns whether a host name or address means this machine only. Names are not resolved. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || /^\[?::1\]?$/.test(host) || (isIPv4(host) && host.startsWith("127."));

function parseNetwork(
  text: string,
): { address: string; family: "ipv4" | "ipv6"; bits: number } | undefined {
  const [address = "", length, ...rest] = text.split("/");
  if (isIP(address) === 0 || address.includes("%") || rest.length > 0) return undefined;
  const family = isIPv4(address) ? "ipv4" : "ipv6";
  const maxBits = family === "ipv4" ? 32 : 128;
  if (length === undefined) return { address, family, bits: maxBits };
  return /^\d{1,3}$/.test(length) && Number(length) <= maxBits
    ? { address, family, bits: Number(length) }
    : undefined;
}

/** Returns whether the text is an address or a network: `10.1.2.3`, `10.0.0.0/8`, `fd00::/8`. */
export const isNetwork = (text: string): boolean => parseNetwork(text) !== undefined;

/** @returns The networks that contain loopback addresses, such as 127.0.0.1. */
export const loopbackNetworks = (networks: readonly string[]): string[] =>
  networks.filter((network) => {
    const holds = createNetworkMatcher([network]);
    return isLoopback(network.split("/")[0]!) || holds("127.0.0.1") || holds("::1");
  });

/** Creates a function that returns whether a normalised address is in one of the networks. */
export function createNetworkMatcher(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const known = parseNetwork(network);
    if (known === undefined) continue;
    const normal = normaliseAddress(known.address);
    if (known.family === "ipv6" && isIPv4(normal))
      list.addSubnet(normal, Math.max(known.bits - 96, 0), "ipv4");
    else list.addSubnet(known.address, known.bits, known.family);
  }
  return (address) => isIP(address) !== 0 && list.check(address, isIPv4(address) ? "ipv4" : "ipv6");
}

const isLinkLocal = (address: string): boolean => /^fe[89ab]|^169\.254\./i.test(address);
/** Removes the zone of a link-local address: it is valid on this machine only and not in URLs. */
const toUrlHost = (address: string): string =>
  address.includes(":") ? `[${address.replace(/%.*$/, "")}]` : address;

function machineAddresses(withIpv6: boolean): string[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const outside = all.filter(({ internal, address }) => !internal && !isLinkLocal(address));
  const ipv4 = outside.filter(({ family }) => family === "IPv4");
  const ipv6 = withIpv6 ? outside.filter(({ family }) => family === "IPv6") : [];
  return [...ipv4, ...ipv6].map(({ address }) => address);
}

/** Returns the URLs of a server; `localhost` first if it listens on all interfaces. */
export function serverUrls(server: Server, basePath: string, host?: string): URL[] {
  const bound = server.address();
  if (bound === null || typeof bound === "string") return []; // not listening, or on a Unix socket
  const scheme = server instanceof TlsServer ? "https" : "http";
  const everywhere = bound.address === "::" || bound.address === "0.0.0.0";
  const named = host !== undefined && host !== bound.address ? host : bound.address;
  const hosts = everywhere ? ["localhost", ...machineAddresses(bound.address === "::")] : [named];
  return hosts.map((name) => new URL(`${scheme}://${toUrlHost(name)}:${bound.port}${basePath}/`));
}

const cacheMs = 5_000;

/** Caches the URLs for 5 s, because every request needs them and interfaces may change. */
export function cacheServerUrls(now: () => number, find: () => URL[]): () => URL[] {
  let cached: { readonly at: number; readonly urls: readonly URL[] } | undefined;
  return () => {
    const at = now();
    if (!cached || Math.abs(at - cached.at) >= cacheMs) cached = { at, urls: find() };
    return cached.urls.map((url) => new URL(url));
  };
}
