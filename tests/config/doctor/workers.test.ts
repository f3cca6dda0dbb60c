import { describe, expect, test } from "vitest";
import { runDoctor, type CheckView } from "../../../config/doctor/index.ts";
import { withHome } from "../../support/token-store-harness.ts";

async function check(
  home: string,
  env: Record<string, string> = {},
): Promise<CheckView | undefined> {
  const found = await runDoctor({ home, env, now: Date.now() });
  return found.find(({ id }) => id === "workers");
}

describe("workers", () => {
  test("lists the ports of the dashboards", () =>
    withHome(async ({ path, write }) => {
      await write("launcher-config.json", '{"workers":2}');
      const env = { SERVICE_STORE_KIND: "redis", SERVICE_GATEWAY_PORT: "18801" };
      expect(await check(path, env)).toMatchObject({
        result: "ok",
        reason: "2 workers have their dashboards at 18800, 18802.",
      });
    }));

  test("names a missing store, and a number that is not valid", () =>
    withHome(async ({ path, write }) => {
      await write("launcher-config.json", '{"workers":2}');
      expect(await check(path)).toMatchObject({
        result: "failed",
        reason: expect.stringContaining("needs a store") as string,
      });
      expect(await check(path, { SERVICE_WORKERS: "many" })).toMatchObject({
        result: "failed",
        reason: expect.stringContaining("from 1 to 64") as string,
      });
    }));

  test("omits the check with one worker", () =>
    withHome(async ({ path, write }) => {
      expect(await check(path)).toBeUndefined();
      await write("launcher-config.json", '{"workers":2}');
      expect(await check(path, { SERVICE_WORKERS: "1" })).toBeUndefined();
    }));
});
