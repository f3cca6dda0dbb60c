// The doctor check of a store that several nodes share, with a real server.
import { describe, expect, test } from "vitest";
import { redisSecret } from "../../support/redis-nodes.ts";
import { hasRedis, startRedis } from "../../support/redis-server.ts";
import { checks } from "../../support/doctor-harness.ts";
import { withHome } from "../../support/token-store-harness.ts";

describe.skipIf(!hasRedis)("the doctor check of Redis", () => {
  const run = async (url: string, secret = redisSecret) => {
    let found: object | undefined;
    await withHome(async (home) => {
      const env = { SERVICE_STORE_KIND: "redis", SERVICE_STORE_URL: url };
      const all = await checks(home, { env: { ...env, SERVICE_STORE_SECRET: secret } });
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
