import type { Server } from "node:http";
import { BlockList, isIPv6 as fitsIPv6, isIP, isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import { Server as TlsServer } from "node:tls";

/** Node asks a long pattern; most addresses fail at the first look. */
const isIPv6 = (address: string): boolean => address.includes(":") && fitsIPv6(address);

/** The eight groups of an IPv6 address, which the caller has checked with `isIPv6`. */
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

/** Names the peer of a Unix socket, and of a connection that has ended. */
export const noAddress = "local";

/** One spelling per address: no zone, and an IPv4 address mapped into IPv6 as the IPv4 address it is. */
export function normaliseAddress(address: string): string {
  const bare = address.replace(/%.*$/, "").toLowerCase();
  if (!isIPv6(bare)) return bare;
  const groups = ipv6Groups(bare);
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (!mapped) return bare;
  return [groups[6]! >> 8, groups[6]! & 255, groups[7]! >> 8, groups[7]! & 255].join(".");
}

/** What the limiter counts by: an IPv4 address, or the /64 of an IPv6 address, which one subscriber is given. */
export function addressKey(address: string): string {
  const normal = normaliseAddress(address);
  if (!isIPv6(normal)) return normal;
  const network = ipv6Groups(normal)
    .slice(0, 4)
    .map((group) => group.toString(16));
  return `${network.join(":")}::/64`;
}

/** This machine alone, as `host` or the host of an address. A name that only resolves to it is not known to. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || /^\[?::1\]?$/.test(host) || (isIPv4(host) && host.startsWith("127."));

function parseNetwork(
  text: string,
): { address: string; family: "ipv4" | "ipv6"; bits: number } | undefined {
  const [address = "", length, ...rest] = text.split("/");
  if (isIP(address) === 0 || address.includes("%") || rest.length > 0) return undefined;
  const family = isIPv4(address) ? "ipv4" : "ipv6";
  const most = family === "ipv4" ? 32 : 128;
  if (length === undefined) return { address, family, bits: most };
  return /^\d{1,3}$/.test(length) && Number(length) <= most
    ? { address, family, bits: Number(length) }
    : undefined;
}

/** `10.1.2.3`, `10.0.0.0/8`, `fd00::/8`. */
export const isNetwork = (text: string): boolean => parseNetwork(text) !== undefined;

/** @returns The networks that hold addresses of this machine alone, such as 127.0.0.1. */
export const loopbackNetworks = (networks: readonly string[]): string[] =>
  networks.filter((network) => {
    const holds = createNetworkMatcher([network]);
    return isLoopback(network.split("/")[0]!) || holds("127.0.0.1") || holds("::1");
  });

/** Tells whether an address (in its normal spelling) lies in one of the networks. */
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
/** Without the interface of a link-local address: that is this machine's own name for it, and no URL holds one. */
const toUrlHost = (address: string): string =>
  address.includes(":") ? `[${address.replace(/%.*$/, "")}]` : address;

function machineAddresses(withIpv6: boolean): string[] {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const outside = all.filter(({ internal, address }) => !internal && !isLinkLocal(address));
  const ipv4 = outside.filter(({ family }) => family === "IPv4");
  const ipv6 = withIpv6 ? outside.filter(({ family }) => family === "IPv6") : [];
  return [...ipv4, ...ipv6].map(({ address }) => address);
}

/** Where a server can be reached, this machine's own name for itself first. */
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

/** Every request asks for the addresses; the system is asked at most every 5 s, as interfaces may come and go. */
export function cacheServerUrls(now: () => number, find: () => URL[]): () => URL[] {
  let found: { readonly at: number; readonly links: readonly URL[] } | undefined;
  return () => {
    const at = now();
    if (!found || Math.abs(at - found.at) >= cacheMs) found = { at, links: find() };
    return found.links.map((link) => new URL(link));
  };
}
