import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runDoctor, type CheckView } from "../../../config/doctor/index.ts";
import { compareVersions, recordHomeVersion } from "../../../config/home-version.ts";
import { findSqliteDriver } from "../../../plugins/conversations/index.ts";
import { withHome } from "../../support/token-store-harness.ts";

const day = 86_400_000;
const start = Date.UTC(2026, 0, 2);

async function check(home: string, version: string, now = start): Promise<CheckView | undefined> {
  const found = await runDoctor({ home, env: {}, now, version });
  return found.find(({ id }) => id === "home-version");
}

describe("home-version", () => {
  test("says nothing about a new home", () =>
    withHome(async ({ path }) => expect(await check(path, "0.2.0")).toBeUndefined()));

  test("names what changes for a home of 0.1.0", () =>
    withHome(async ({ path, write }) => {
      await write("launcher-config.json", '{ "instance": "b31b32", "public": true }');
      await write("config.json", '{ "plugins": ["./mine.js"] }');
      const { result, reason } = (await check(path, "0.2.0"))!;
      expect(result).toBe("warning");
      expect(reason).toMatch(/^This home was last used by 0\.1\.0\. /);
      expect(reason.includes("state/conversations.db")).toBe(findSqliteDriver() !== undefined);
      expect(reason).toContain("max_unauthenticated_per_address");
      expect(reason).toContain("doorward/plugins/program");
      expect(reason).not.toContain("TLS");
    }));

  test("says that nothing changes for a home without such settings", () =>
    withHome(async ({ path, write }) => {
      await write("launcher-config.json", '{ "instance": "b31b32" }');
      await write("config.json", '{ "store": { "kind": "memory" } }');
      expect(await check(path, "0.2.0")).toMatchObject({
        result: "ok",
        reason: "This home was last used by 0.1.0; nothing changes for it.",
      });
    }));

  test("lists the changes for 30 days after the first start", () =>
    withHome(async ({ path, write }) => {
      await write("launcher-config.json", '{ "instance": "b31b32", "host": "10.0.0.1" }');
      expect(await recordHomeVersion(path, "0.2.0", start)).toBe("0.1.0");
      expect(await recordHomeVersion(path, "0.2.0", start + day)).toBeUndefined();
      const { result, reason } = (await check(path, "0.2.0", start + day))!;
      expect(result).toBe("ok");
      expect(reason).toMatch(/^This home was used by 0\.1\.0 until 2026-01-02\. .*256 connections/);
      expect(await check(path, "0.2.0", start + 31 * day)).toMatchObject({
        result: "ok",
        reason: "0.2.0 uses it already.",
      });
    }));

  test("warns of a home that a newer version used", () =>
    withHome(async ({ path }) => {
      await recordHomeVersion(path, "1.10.0", start);
      expect(await check(path, "1.9.0")).toMatchObject({
        result: "warning",
        reason: expect.stringContaining("1.10.0, which is newer than 1.9.0") as string,
      });
    }));

  test("ignores content that is not a version", () =>
    withHome(async ({ path }) => {
      await mkdir(join(path, "state"));
      const file = join(path, "state", "version.json");
      await writeFile(file, '{ "version": "<b>", "since": 1 }', { mode: 0o600 });
      expect(await check(path, "0.2.0")).toBeUndefined();
      expect(await recordHomeVersion(path, "0.2.0", start)).toBeUndefined();
      expect(JSON.parse(await readFile(file, "utf8"))).toEqual({ version: "0.2.0", since: start });
    }));
});

describe("compareVersions", () => {
  test.each([
    ["0.1.0", "0.2.0", -1],
    ["0.10.0", "0.9.9", 1],
    ["1.0.0-rc.1", "1.0.0", 0],
  ])("compares %s with %s", (left, right, expected) =>
    expect(Math.sign(compareVersions(left, right))).toBe(expected),
  );
});
