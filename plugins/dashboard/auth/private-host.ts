/** The private host name: a random name below `localhost` that keeps the session cookie from other programs. @module */
import type { Http, Peer } from "../../http/index.ts";
import { hostName } from "./guard.ts";

/** 80 bits: no page and no other program finds the name by guessing. */
const nameBytes = 10;

export const randomHostName = (random: (bytes: number) => Uint8Array): string =>
  `doorward-${Buffer.from(random(nameBytes)).toString("hex")}.localhost`;
export const isRandomHostName = (name: string): boolean =>
  /^doorward-[0-9a-f]{20}\.localhost$/.test(name);

export interface PrivateHost {
  readonly name: string;
  /**
   * @param path - Path with base path and query.
   * @returns The address of `path` under the private name. Undefined if browsers on this machine cannot reach it so:
   *   the dashboard does not listen on 127.0.0.1 or ::1, or serves https, whose certificate does not hold the name.
   */
  url(path: string): string | undefined;
  /** The host and port of a request as other programs on this machine reach them: only browsers know the name. */
  plainHost(peer: Peer): string;
}

/** Browsers resolve every name below `localhost` to these addresses themselves. */
const resolved: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Cookies ignore ports: one of 127.0.0.1 goes to every program that listens there, one of this name does not. */
export function createPrivateHost(name: string, http: Pick<Http, "addresses">): PrivateHost {
  const address = (): URL | undefined =>
    http
      .addresses()
      .find(({ protocol, hostname }) => protocol === "http:" && resolved.has(hostname));
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
