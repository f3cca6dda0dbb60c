// Checks the addresses of push services. A browser gives them, so they are not trusted.
import { lookup, type LookupAddress } from "node:dns";
import { BlockList, isIP, isIPv4, type LookupFunction } from "node:net";

/** The push services of the browsers. `*.` is one or more labels. */
const knownServices = [
  "*.push.services.mozilla.com",
  "fcm.googleapis.com",
  "*.push.apple.com",
  "*.notify.windows.com",
] as const;

/** Networks that no push service of the internet has. */
const privateNetworks = [
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24",
  "192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24",
  "224.0.0.0/4 240.0.0.0/4",
  // Some of these contain an IPv4 address.
  "::/96 ::ffff:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/32 2001:db8::/32 2002::/16",
  "fc00::/7 fe80::/10 fec0::/10 ff00::/8",
]
  .join(" ")
  .split(" ");

/** One list for each family: a list compares IPv4 addresses with `::ffff:0:0/96` too. */
const blocked = { ipv4: new BlockList(), ipv6: new BlockList() };
const familyOf = (address: string): "ipv4" | "ipv6" => (isIPv4(address) ? "ipv4" : "ipv6");
for (const network of privateNetworks) {
  const [address = "", bits] = network.split("/");
  const family = familyOf(address);
  blocked[family].addSubnet(address, Number(bits), family);
}

/** Unreadable addresses count as private. */
export function isPrivateAddress(address: string): boolean {
  const bare = address.replace(/%.*$/, "");
  return isIP(bare) === 0 || blocked[familyOf(bare)].check(bare, familyOf(bare));
}

const matches = (host: string, rule: string): boolean =>
  rule.startsWith("*.") ? host.endsWith(rule.slice(1)) : host === rule;

/**
 * @param added - `push.hosts`: names, or `NAME:PORT`.
 * @returns Whether the owner has named this host and port.
 */
export function isAddedHost({ hostname, port }: URL, added: readonly string[]): boolean {
  return added.some((rule) => {
    const [name = "", wanted = ""] = rule.toLowerCase().split(":", 2);
    return matches(hostname, name) && port === (wanted === "443" ? "" : wanted);
  });
}

/** @returns What is wrong with an endpoint, for the person who turns notifications on. */
export function endpointProblem(endpoint: string, added: readonly string[]): string | undefined {
  if (!URL.canParse(endpoint)) return "is not an address";
  const url = new URL(endpoint);
  if (url.protocol !== "https:") return "must begin with https:";
  if (url.username !== "" || url.password !== "") return "must not contain a password";
  if (isAddedHost(url, added)) return undefined;
  if (url.port !== "") return `must not name a port: add "${url.host}" to push.hosts`;
  if (knownServices.some((rule) => matches(url.hostname, rule))) return undefined;
  return `belongs to no known push service: add "${url.hostname}" to push.hosts`;
}

export type Resolve = (
  host: string,
  done: (error: Error | null, addresses: readonly LookupAddress[]) => void,
) => void;

const systemResolve: Resolve = (host, done) => lookup(host, { all: true }, done);

/**
 * Creates the lookup of one connection. It checks the addresses that the connection then uses: a
 * name that is resolved again could have others.
 *
 * @param mayBePrivate - The owner has named the host.
 */
export function pinnedLookup(mayBePrivate: boolean, resolve = systemResolve): LookupFunction {
  return (host, options, done) => {
    resolve(host, (error, addresses) => {
      const allowed = addresses?.filter(
        ({ address }) => mayBePrivate || !isPrivateAddress(address),
      );
      const [first] = allowed ?? [];
      if (error) return done(error, "");
      // One private address is reason enough: the rest may change in a moment.
      if (!first || allowed.length < addresses.length)
        return done(new Error(`${host} has a private address`), "");
      if (options.all === true) return done(null, [...allowed]);
      done(null, first.address, first.family);
    });
  };
}
