import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import type { Peer } from "../http/index.ts";

/** Host part of `host:port`, without the brackets around an address and without a final dot. */
export function hostName(host: string): string {
  const bare = host.replace(/:\d*$/, "").replace(/^\[([^[\]]*)\]$/, "$1");
  return bare.toLowerCase().replace(/\.$/, "");
}

export interface HostPolicy {
  /** Names it is bound to or known by; asked only for a name that needs them. */
  readonly own: () => ReadonlySet<string>;
  /** `allowed_hosts`; `*.example.org` stands for every name below. */
  readonly allowed: readonly string[];
}

/** IP literals cannot be rebound by DNS, and `localhost` is answered by the machine itself. What is no host and port at
 *  all (`localhost:99999`) is not allowed either: links are made of it. */
export function matchesHostPolicy(host: string, { own, allowed }: HostPolicy): boolean {
  if (!URL.canParse(`http://${host}`)) return false;
  const name = hostName(host);
  if (name === "localhost" || name.endsWith(".localhost") || isIP(name) !== 0 || own().has(name))
    return true;
  return allowed.some((entry) => {
    const rule = entry.toLowerCase();
    return rule.startsWith("*.")
      ? name.endsWith(rule.slice(1)) && name.length > rule.length - 1
      : name === rule;
  });
}

export function ownOrigin(peer: Peer): string {
  const [scheme, port] = peer.secure ? ["https", ":443"] : ["http", ":80"];
  return `${scheme}://${peer.host.endsWith(port) ? peer.host.slice(0, -port.length) : peer.host}`;
}

export type OriginVerdict = "accepted" | "refused" | "null-form";

/** Whether a changing request comes from our own page. `null-form`: passes only as a form that its body proves ours. */
export function checkRequestOrigin(
  headers: IncomingHttpHeaders,
  peer: Peer,
  allowed: readonly string[],
): OriginVerdict {
  const site = headers["sec-fetch-site"];
  const { origin } = headers;
  if (site !== undefined && site !== "same-origin" && site !== "none") return "refused";
  if (origin === "null") return "null-form";
  if (site !== undefined || origin === undefined) return "accepted";
  const from = origin.toLowerCase();
  return from === ownOrigin(peer) || allowed.includes(from) ? "accepted" : "refused";
}
