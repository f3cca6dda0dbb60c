import type { LookupAddress } from "node:dns";
import { describe, expect, test } from "vitest";
import {
  endpointProblem,
  isPrivateAddress,
  pinnedLookup,
  type Resolve,
} from "../../../plugins/push/endpoint.ts";
import { createVapidKey } from "../../../plugins/push/encryption.ts";
import { sendMessage } from "../../../plugins/push/sender.ts";
import { startPushService } from "../../support/push-service.ts";

describe("addresses of push services", () => {
  test.each([
    "https://fcm.googleapis.com/fcm/send/a",
    "https://updates.push.services.mozilla.com/wpush/v2/a",
    "https://web.push.apple.com/a",
    "https://wns2-par02p.notify.windows.com/w/?token=a",
  ])("accepts %s", (endpoint) => {
    expect(endpointProblem(endpoint, [])).toBeUndefined();
  });

  test.each([
    "http://fcm.googleapis.com/a",
    "https://fcm.googleapis.com:8443/a",
    "https://fcm.googleapis.com.evil.example/a",
    "https://evil.example/fcm.googleapis.com",
    "https://user:word@fcm.googleapis.com/a",
    "https://push.apple.com.evil.example/",
    "https://127.0.0.1/a",
    "https://[::1]/a",
    "https://localhost/a",
    "https://10.0.0.1/a",
    "file:///etc/passwd",
    "nothing",
  ])("rejects %s", (endpoint) => {
    expect(endpointProblem(endpoint, [])).toBeDefined();
  });

  test("accepts a named host at its port only, and https only", () => {
    const hosts = ["push.example.org:8443", "*.up.example.org"];
    const problemOf = (endpoint: string) => endpointProblem(endpoint, hosts);
    expect(problemOf("https://push.example.org:8443/a")).toBeUndefined();
    expect(problemOf("https://a.up.example.org/a")).toBeUndefined();
    expect(problemOf("https://push.example.org/a")).toBeDefined();
    expect(problemOf("https://push.example.org:444/a")).toBeDefined();
    expect(problemOf("http://push.example.org:8443/a")).toBeDefined();
    expect(problemOf("https://a.up.example.org:8443/a")).toBeDefined();
  });

  test.each([
    ["127.0.0.1", true],
    ["10.1.2.3", true],
    ["172.31.0.1", true],
    ["192.168.1.1", true],
    ["169.254.169.254", true],
    ["100.64.0.1", true],
    ["0.0.0.0", true],
    ["::1", true],
    ["::", true],
    ["fe80::1%eth0", true],
    ["fd00::1", true],
    ["::ffff:127.0.0.1", true],
    ["::ffff:7f00:1", true],
    ["64:ff9b::7f00:1", true],
    ["2002:7f00:1::", true],
    ["nonsense", true],
    ["142.250.1.95", false],
    ["2a00:1450:4001::5f", false],
  ])("knows that %s is private: %s", (address, isPrivate) => {
    expect(isPrivateAddress(address)).toBe(isPrivate);
  });
});

/** Answers with one list of addresses after the other, as a name whose addresses change. */
const changing = (...answers: readonly (readonly string[])[]): Resolve & { asked: number } => {
  const resolve = (_: string, done: Parameters<Resolve>[1]): void => {
    const addresses = answers[Math.min(resolve.asked, answers.length - 1)]!;
    resolve.asked += 1;
    done(
      null,
      addresses.map((address): LookupAddress => ({
        address,
        family: address.includes(":") ? 6 : 4,
      })),
    );
  };
  resolve.asked = 0;
  return resolve;
};

const lookUp = (resolve: Resolve, mayBePrivate = false): Promise<unknown> =>
  new Promise((settle) =>
    pinnedLookup(mayBePrivate, resolve)("push.example", { all: true }, (error, addresses) =>
      settle(error?.message ?? addresses),
    ),
  );

describe("lookup of a connection", () => {
  test("passes on the addresses that it has checked", async () => {
    const resolve = changing(["142.250.1.95"], ["127.0.0.1"]);
    expect(await lookUp(resolve)).toEqual([{ address: "142.250.1.95", family: 4 }]);
    expect(resolve.asked).toBe(1);
  });

  test("rejects a name with one private address among others", async () => {
    expect(await lookUp(changing(["142.250.1.95", "127.0.0.1"]))).toContain("private address");
    expect(await lookUp(changing(["::ffff:10.0.0.1"]))).toContain("private address");
    expect(await lookUp(changing([]))).toContain("private address");
  });

  test("connects to no private address, also when the name changes", async () => {
    await using service = await startPushService();
    const subscription = service.subscribe();
    const port = service.host.split(":")[1]!;
    const key = createVapidKey();
    const send = (endpoint: string, hosts: readonly string[], resolve: Resolve) =>
      sendMessage(
        {
          clock: { now: Date.now },
          random: (bytes) => new Uint8Array(bytes),
          after: () => () => undefined,
          hosts: () => hosts,
          subject: () => "https://example.org",
          key: async () => key,
          ca: service.cert,
          resolve,
        },
        { ...subscription, endpoint },
        Buffer.from("{}"),
        { ttl: 60, urgency: "high", topic: "t" },
      );
    // The name is known, and its address was public when the device was added.
    const resolve = changing(["127.0.0.1"]);
    const known = await send("https://fcm.googleapis.com/a", [], resolve);
    expect(known).toMatchObject({ outcome: "later", problem: expect.stringContaining("private") });
    expect(await send("https://127.0.0.1/a", [], resolve)).toMatchObject({ outcome: "refused" });
    expect(service.requests).toBe(0);
    // The owner has named this host, so it may be private.
    const path = new URL(subscription.endpoint).pathname;
    const named = `there.example:${port}`;
    expect(await send(`https://${named}${path}`, [named], resolve)).toEqual({ outcome: "sent" });
    expect(service.requests).toBe(1);
  });
});
