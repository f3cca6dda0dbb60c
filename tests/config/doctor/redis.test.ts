// The doctor check of a store that several nodes share, with a real server.
import { describe, expect, test } from "vitest";
import { redisSecret } from "../../support/redis-nodes.ts";
import { hasRedis, startRedis } from "../../support/redis-server.ts";
import { checks, type Options } from "../../support/doctor-harness.ts";
import { withHome } from "../../support/token-store-harness.ts";

describe.skipIf(!hasRedis)("the doctor check of Redis", () => {
  const run = async (url: string, secret = redisSecret, running?: Options["running"]) => {
    let found: object | undefined;
    await withHome(async (home) => {
      const env = { SERVICE_STORE_KIND: "redis", SERVICE_STORE_URL: url };
      const all = await checks(home, {
        env: { ...env, SERVICE_STORE_SECRET: secret },
        ...(running && { running }),
      });
      found = all["conversation-store"];
    });
    return found;
  };

  test("names the version of a server that can be used", async () => {
    await using server = await startRedis(["--appendonly", "yes"]);
    expect(await run(server.url)).toMatchObject({
      result: "ok",
      reason: expect.stringMatching(/Redis \d/),
    });
  });

  test("warns of nodes with other settings of the channel", async () => {
    await using server = await startRedis(["--appendonly", "yes"]);
    expect(await run(server.url, redisSecret, { differentNodes: ["b", "c"] })).toMatchObject({
      result: "warning",
      reason: "The settings of the channel differ on b, c.",
    });
  });

  test("warns of a server without an append-only file", async () => {
    await using server = await startRedis();
    expect(await run(server.url)).toMatchObject({ result: "warning" });
  });

  test.each([
    ["redis://127.0.0.1:1", redisSecret],
    ["redis://127.0.0.1:1", "short"],
  ])("reports a server that cannot be used at %s", async (url, secret) => {
    expect(await run(url, secret)).toMatchObject({ result: "failed" });
  });
});
