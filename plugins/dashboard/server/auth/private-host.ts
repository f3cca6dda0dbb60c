/**
 * Private host name: a random name below `localhost` that hides the session cookie from other
 * programs.
 *
 * @module
 */
import type { Http, Peer } from "../../../http/index.ts";
import { hostName } from "../request.ts";

/** 80 bits, so no page and no other program can guess the name. */
const nameBytes = 10;

export const randomHostName = (random: (bytes: number) => Uint8Array): string =>
  `doorward-${Buffer.from(random(nameBytes)).toString("hex")}.localhost`;
export const isRandomHostName = (name: string): boolean =>
  /^doorward-[0-9a-f]{20}\.localhost$/.test(name);

/** Browsers resolve every name below `localhost` to these addresses themselves. */
const loopbackHosts: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Cookies ignore ports: a cookie of 127.0.0.1 is sent to all programs that listen there. */
export class PrivateHost {
  private readonly name: string;
  private readonly http: Http;

  constructor(name: string, http: Http) {
    this.name = name;
    this.http = http;
  }

  /**
   * @param path - Path with base path and query.
   * @returns The URL of `path` under the private name. Undefined if the dashboard does not listen
   *   on 127.0.0.1 or ::1, or serves https: its certificate does not contain the name.
   */
  url(path: string): string | undefined {
    const base = this.address();
    return base && `http://${this.name}${base.port && `:${base.port}`}${path}`;
  }

  /** @returns The host and port of a request, under an address that programs can resolve too. */
  plainHost({ host }: Peer): string {
    const plain = hostName(host) === this.name ? this.address()?.hostname : undefined;
    return plain === undefined ? host : `${plain}${/:\d+$/.exec(host)?.[0] ?? ""}`;
  }

  private address(): URL | undefined {
    return this.http
      .addresses()
      .find(({ protocol, hostname }) => protocol === "http:" && loopbackHosts.has(hostname));
  }
}
