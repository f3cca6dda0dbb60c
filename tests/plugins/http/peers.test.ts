// Tests addresses, peers and identities of requests.
import { describe, expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import { http, type HostIdentity, type Peer } from "../../../plugins/http/index.ts";
import {
  addressKey,
  createNetworkMatcher,
  normaliseAddress,
} from "../../../plugins/http/addresses.ts";
import { get, portOf } from "../../support/http-client.ts";

describe("normaliseAddress and addressKey", () => {
  test.each([
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["::FFFF:c000:0207", "192.0.2.7"],
    ["0:0:0:0:0:ffff:192.0.2.7", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:0DB8:0001:0002::", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["local", "local"],
  ])("%s is counted as %s", (address, key) => {
    expect(addressKey(address)).toBe(key);
    expect(addressKey(key)).toBe(key);
  });

  test("returns one key per IPv6 /64", () => {
    expect(addressKey("2001:db8::1")).toBe(addressKey("2001:db8::ffff:0:0:2"));
    expect(addressKey("2001:db8::1")).not.toBe(addressKey("2001:db8:0:1::1"));
  });

  test("matches addresses in any spelling", () => {
    const has = createNetworkMatcher([
      "10.0.0.0/8",
      "192.0.2.1",
      "fd00::/8",
      "::ffff:198.51.100.0/120",
    ]);
    const inside = ["10.255.0.1", "192.0.2.1", "::ffff:10.1.2.3", "fdff::1", "198.51.100.9"];
    const outside = ["11.0.0.1", "192.0.2.2", "fe80::1", "198.51.101.9", "local", ""];
    expect(inside.map(normaliseAddress).map(has)).toEqual(inside.map(() => true));
    expect(outside.map(normaliseAddress).map(has)).toEqual(outside.map(() => false));
  });
});

/** Returns the peer of a request with these header lines. */
async function peerOf(
  lines: string[],
  trusted: string[],
): Promise<{ peer: Peer; warnings: unknown[] }> {
  let peer: Peer | undefined;
  const warnings: unknown[] = [];
  await withKernel(
    [http({ port: 0 })],
    async ({ kernel: { services }, lines: log }) => {
      services.http.request("/", (request, response) => {
        peer = services.http.peer(request);
        response.end();
      });
      const ask = (): Promise<unknown> =>
        get(portOf(services.http), "/", ["Host: Own.Example:8080", ...lines]);
      await Promise.all([ask(), ask()]);
      warnings.push(...log.filter(({ level }) => level === "warn"));
    },
    { config: { launcher: { trusted_proxies: trusted } } },
  );
  return { peer: peer!, warnings };
}

const own = { address: "127.0.0.1", key: "127.0.0.1", secure: false, host: "own.example:8080" };
const forged = [
  "X-Forwarded-For: 192.0.2.9",
  "X-Forwarded-Proto: https",
  "X-Forwarded-Host: other.example",
];

describe("Http.peer", () => {
  test("ignores forwarded headers of an untrusted peer and warns once", async () => {
    const { peer, warnings } = await peerOf(forged, ["10.0.0.0/8"]);
    expect(peer).toEqual(own);
    expect(warnings).toEqual([
      expect.objectContaining({ setting: "trusted_proxies", address: "127.0.0.1" }),
    ]);
    expect(JSON.stringify(warnings)).not.toContain("192.0.2.9");
  });

  test("logs no warning without forwarded headers", async () => {
    expect(await peerOf([], [])).toEqual({ peer: own, warnings: [] });
  });

  test("reads address, scheme and host from a trusted proxy", async () => {
    const { peer, warnings } = await peerOf(forged, ["127.0.0.0/8"]);
    expect(peer).toEqual({
      address: "192.0.2.9",
      key: "192.0.2.9",
      secure: true,
      host: "other.example",
    });
    expect(warnings).toEqual([
      expect.objectContaining({ setting: "trusted_proxies", network: "127.0.0.0/8" }),
    ]);
  });

  test.each([
    [
      "ignores addresses that the client sent",
      ["X-Forwarded-For: 1.1.1.1, 192.0.2.9, 10.0.0.2"],
      "192.0.2.9",
    ],
    [
      "joins several lines into one list",
      ["X-Forwarded-For: 1.1.1.1, 192.0.2.9", "X-Forwarded-For: 10.0.0.2"],
      "192.0.2.9",
    ],
    ["all trusted: the one furthest away", ["X-Forwarded-For: 10.0.0.3, 10.0.0.2"], "10.0.0.3"],
    ["stops at an invalid entry", ["X-Forwarded-For: 192.0.2.9, unknown, 10.0.0.2"], "10.0.0.2"],
    ["ports and brackets are left out", ["X-Forwarded-For: [2001:db8::1]:443"], "2001:db8::1"],
    ["a mapped address is the IPv4 address", ["X-Forwarded-For: ::ffff:192.0.2.9"], "192.0.2.9"],
    ["an IPv4 address with a port", ["X-Forwarded-For: 192.0.2.9:1234"], "192.0.2.9"],
    ["nothing useful: the proxy itself", ["X-Forwarded-For: , ,"], "127.0.0.1"],
    ["the other family is not read", ["Forwarded: for=192.0.2.9;proto=https"], "127.0.0.1"],
  ])("%s", async (_, lines, address) => {
    expect((await peerOf(lines, ["127.0.0.1", "10.0.0.0/8"])).peer.address).toBe(address);
  });

  test.each([
    ["wss", true],
    ["WSS", true],
    ["ws", false],
    ["https, ws", false],
    ["ws,wss", true],
    ["wss:", false],
  ])("reads the scheme of an upgrade: %s", async (scheme, secure) => {
    const { peer } = await peerOf([`X-Forwarded-Proto: ${scheme}`], ["127.0.0.1"]);
    expect(peer.secure).toBe(secure);
    expect((await peerOf([`X-Forwarded-Proto: ${scheme}`], [])).peer.secure).toBe(false);
  });

  test("prefers scheme and host of the nearest proxy", async () => {
    const lines = ["X-Forwarded-Proto: https, http", "X-Forwarded-Host: a.example, b.example"];
    const { peer } = await peerOf(lines, ["127.0.0.1"]);
    expect(peer).toMatchObject({ secure: false, host: "b.example" });
  });
});

describe("Http.identityOf", () => {
  test("calls the registered functions in order, with the peer", () =>
    withKernel([http({ port: 0 })], async ({ kernel: { services } }) => {
      const onEnd = () => () => {};
      services.http.registerIdentity("nobody", () => undefined);
      services.http.registerIdentity("session", ({ headers }, { address }) =>
        headers["x-id"] ? { id: `${address} ${String(headers["x-id"])}`, onEnd } : undefined,
      );
      services.http.request("/", (request, response) => {
        const who = services.http.identityOf(request);
        response.end(who ? `${who.kind} ${who.identity.id}` : "unknown client");
      });
      const port = portOf(services.http);
      expect((await get(port, "/", ["Host: a", "X-Id: 7"])).body).toContain("session 127.0.0.1 7");
      expect((await get(port, "/")).body).toContain("unknown client");
    }));

  test("rejects a second function for one kind", () =>
    withKernel([http({ port: 0, identify: () => undefined })], ({ kernel: { services } }) => {
      const register = (kind: string) => () =>
        services.http.registerIdentity(kind, () => undefined);
      for (const kind of ["host", "owner"]) expect(register(kind)).toThrow(`"${kind}"`);
      expect(register("key")).not.toThrow();
      expect(register("key")).toThrow('the kind "key" is registered already');
    }));

  test("prefers a dashboard sign-in over a host identity without owner", () => {
    const identify = (): HostIdentity => ({ id: "ann" });
    return withKernel([http({ port: 0, identify })], async ({ kernel: { services } }) => {
      services.http.registerIdentity("session", ({ headers }) =>
        headers["x-id"] ? { id: String(headers["x-id"]), onEnd: () => () => {} } : undefined,
      );
      services.http.request("/", (request, response) => {
        const found = services.http.identityOf(request);
        response.end(`${found?.kind} ${found?.identity.id}`);
      });
      const port = portOf(services.http);
      expect((await get(port, "/", ["Host: a", "X-Id: 7"])).body).toContain("session 7");
      expect((await get(port, "/")).body).toContain("host ann");
    });
  });
});
