/**
 * Private host name: a random name below `localhost` that hides the session cookie from other
 * programs.
 *
 * @module
 */
import type { Http, Peer } from "../../../http/index.ts";
import { hostName } from "./guard.ts";

/** 80 bits, so no page and no other program can guess the name. */
const nameBytes = 10;

export const randomHostName = (random: (bytes: number) => Uint8Array): string =>
  `doorward-${Buffer.from(random(nameBytes)).toString("hex")}.localhost`;
export const isRandomHostName = (name: string): boolean =>
  /^doorward-[0-9a-f]{20}\.localhost$/.test(name);

export interface PrivateHost {
  readonly name: string;
  /**
   * @param path - Path with base path and query.
   * @returns The URL of `path` under the private name. Undefined if the dashboard does not listen
   * on
   *   127.0.0.1 or ::1, or serves https: its certificate does not contain the name.
   */
  url(path: string): string | undefined;
  /** @returns The host and port of a request, under an address that programs can resolve too. */
  plainHost(peer: Peer): string;
}

/** Browsers resolve every name below `localhost` to these addresses themselves. */
const loopbackHosts: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Cookies ignore ports: a cookie of 127.0.0.1 is sent to all programs that listen there. */
export function createPrivateHost(name: string, http: Pick<Http, "addresses">): PrivateHost {
  const address = (): URL | undefined =>
    http
      .addresses()
      .find(({ protocol, hostname }) => protocol === "http:" && loopbackHosts.has(hostname));
  return {
    name,
    url(path) {
      const base = address();
      return base && `http://${name}${base.port && `:${base.port}`}${path}`;
    },
    plainHost({ host }) {
      const plain = hostName(host) === name ? address()?.hostname : undefined;
      return plain === undefined ? host : `${plain}${/:\d+$/.exec(host)?.[0] ?? ""}`;
    },
  };
}
