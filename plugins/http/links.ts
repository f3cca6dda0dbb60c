import type { Server } from "node:http";
import { networkInterfaces } from "node:os";
import { Server as TlsServer } from "node:tls";

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
