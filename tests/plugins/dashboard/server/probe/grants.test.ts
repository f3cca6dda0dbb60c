// Tests the grants of the probe with a stopped clock.
import { createHmac, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { createStoppedClock } from "../../../../../kernel/testing.ts";
import { limits, ProbeGrants } from "../../../../../plugins/dashboard/server/probe/grants.ts";

type Grant = ReturnType<ProbeGrants["issue"]>;

function requestOf({ id, key }: Grant, action: string, challenge = randomBytes(16)) {
  const text = challenge.toString("base64url");
  const proof = createHmac("sha256", Buffer.from(key, "base64url"))
    .update(`request\n${action}\n${text}`)
    .digest("base64url");
  return {
    url: `/pico/probe?do=${action}`,
    headers: { "x-doorward-probe": `${id}.${text}.${proof}` },
  };
}
const admit = (grants: ProbeGrants, request: object) => grants.admit(request as IncomingMessage);

function createGrants() {
  const clock = createStoppedClock();
  const grants = new ProbeGrants(clock, (bytes) => randomBytes(bytes));
  return { clock, grants, grant: grants.issue() };
}

describe("ProbeGrants", () => {
  test("admits a request with its proof, once", () => {
    const { grants, grant } = createGrants();
    const request = requestOf(grant, "facts");
    const admitted = admit(grants, request);
    expect(admitted?.action).toBe("facts");
    admitted?.release();
    expect(admit(grants, request)).toBeUndefined();
  });

  test("rejects a proof of another action, key and grant", () => {
    const { grants, grant } = createGrants();
    const { headers } = requestOf(grant, "facts");
    expect(admit(grants, { url: "/pico/probe?do=body", headers })).toBeUndefined();
    const key = randomBytes(32).toString("base64url");
    expect(admit(grants, requestOf({ ...grant, key }, "facts"))).toBeUndefined();
    expect(admit(grants, requestOf({ ...grant, id: "AAAAAAAAAAA" }, "facts"))).toBeUndefined();
    expect(admit(grants, { url: "/pico/probe?do=facts", headers: {} })).toBeUndefined();
  });

  test("ends with time, with a later grant, and when it is revoked", () => {
    const { clock, grants, grant } = createGrants();
    const admitted = admit(grants, requestOf(grant, "stream"));
    clock.increment(limits.lifetimeMs);
    expect(admitted?.ended.aborted).toBe(true);
    expect(admit(grants, requestOf(grant, "facts"))).toBeUndefined();
    const second = grants.issue();
    const third = grants.issue();
    expect(admit(grants, requestOf(second, "facts"))).toBeUndefined();
    expect(admit(grants, requestOf(third, "facts"))).toBeDefined();
    grants.end();
    expect(admit(grants, requestOf(third, "facts"))).toBeUndefined();
  });

  test("keeps a later grant when an earlier check ends", () => {
    const { grants, grant } = createGrants();
    const later = grants.issue();
    grants.end(grant.id);
    expect(admit(grants, requestOf(later, "facts"))).toBeDefined();
    grants.end(later.id);
    expect(admit(grants, requestOf(later, "facts"))).toBeUndefined();
  });

  test.each(["//", "//[", "", "*", "/pico/probe?%&do"])("rejects the target %j", (url) => {
    const { grants, grant } = createGrants();
    expect(admit(grants, { ...requestOf(grant, "facts"), url })).toBeUndefined();
  });

  test("limits requests, parallel requests and bytes", () => {
    const { grants, grant } = createGrants();
    const open = Array.from({ length: limits.parallel }, () =>
      admit(grants, requestOf(grant, "a")),
    );
    expect(open.every(Boolean)).toBe(true);
    expect(admit(grants, requestOf(grant, "a"))).toBeUndefined();
    expect(open[0]?.useBytes(limits.bytes)).toBe(true);
    expect(open[1]?.useBytes(1)).toBe(false);
    for (const one of open) one?.release();
    for (let used = limits.parallel; used < limits.requests; used += 1) {
      const one = admit(grants, requestOf(grant, "a"));
      expect(one).toBeDefined();
      one?.release();
    }
    expect(admit(grants, requestOf(grant, "a"))).toBeUndefined();
  });
});
