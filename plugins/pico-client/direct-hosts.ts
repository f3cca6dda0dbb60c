// Decides which hosts are reached without a proxy: this machine, and those that `NO_PROXY` names.
import { BlockList, isIP } from "node:net";
import { networkInterfaces } from "node:os";

const familyOf = (address: string): "ipv4" | "ipv6" => (isIP(address) === 6 ? "ipv6" : "ipv4");

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");
// A connection to an unspecified address reaches this machine.
loopback.addAddress("0.0.0.0", "ipv4");
loopback.addAddress("::", "ipv6");

/** Returns whether the scheme of a URL is `wss:` or `https:`. */
export const isEncrypted = ({ protocol }: URL): boolean =>
  protocol === "wss:" || protocol === "https:";

/** @returns The host of a URL without brackets and final dot. */
const bareHost = ({ hostname }: URL): string => hostname.replace(/^\[|\]$|\.$/g, "").toLowerCase();

/** Returns whether the host is a name or an address that only means this machine. */
export function isLoopback(url: URL): boolean {
  const host = bareHost(url);
  if (isIP(host) !== 0) return loopback.check(host, familyOf(host));
  return host === "localhost" || host.endsWith(".localhost");
}

/** Returns whether the host is an address of a network interface of this machine. */
const isInterface = (host: string): boolean =>
  Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === host));

/** Returns whether an address equals an item or is in its network: `10.0.0.0/8`, `fd00::/8`. */
function matchesAddress(host: string, item: string): boolean {
  const [, address = "", bits] = /^\[?([^[\]/]*)\]?(?:\/(\d{1,3}))?$/.exec(item) ?? [];
  const family = isIP(address);
  if (family !== isIP(host) || address.includes("%")) return false;
  const prefix = Number(bits ?? (family === 4 ? 32 : 128));
  if (prefix > (family === 4 ? 32 : 128)) return false;
  const list = new BlockList();
  list.addSubnet(address, prefix, familyOf(address));
  return list.check(host, familyOf(host));
}

/** Returns whether a name equals an item or ends with it: `b.example` matches `a.b.example`. */
function matchesName(host: string, item: string): boolean {
  const name = item.replace(/^(?:\*?\.)?/, "").replace(/\.$/, "");
  return name !== "" && (host === name || host.endsWith(`.${name}`));
}

/** Splits `host:port`. An IPv6 address with a port needs brackets. */
function splitPort(item: string): readonly [host: string, port: string | undefined] {
  const [, host, port] = /^(\[[^\]]*\]|[^:]*):(\d+)$/.exec(item) ?? [];
  return host === undefined ? [item, undefined] : [host, port];
}

/**
 * Matches `NO_PROXY` as curl does: `*` alone, or names, addresses and networks. In addition, an
 * item may end with `:port`, and names may begin with `*.`.
 */
export function isInNoProxy(url: URL, list: string): boolean {
  if (list.trim() === "*") return true;
  const host = bareHost(url);
  const port = url.port || (isEncrypted(url) ? "443" : "80");
  const matches = isIP(host) === 0 ? matchesName : matchesAddress;
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean)
    .some((item) => {
      const [name, itemPort = port] = splitPort(item);
      return itemPort === port && matches(host, name);
    });
}

/**
 * Returns whether the URL leads to this machine. A proxy would get the token of the local channel,
 * and cannot reach it.
 */
export const isThisMachine = (url: URL): boolean => isLoopback(url) || isInterface(bareHost(url));
