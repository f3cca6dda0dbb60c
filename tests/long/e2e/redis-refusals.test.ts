// Starts the launcher with Redis servers and secrets that it cannot use.
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { startFakeRedis } from "../../support/fake-redis.ts";
import { openRedisNode, redisSecret } from "../../support/redis-nodes.ts";
import { hasRedis, startRedis } from "../../support/redis-server.ts";
import { spawnLauncher } from "../../e2e/launcher.ts";

const hidden = fileURLToPath(new URL("../../e2e/fixtures/without-ioredis.cjs", import.meta.url));

interface Start {
  readonly url: string;
  readonly secret?: string;
  readonly nodeArgs?: readonly string[];
}

/** Starts the launcher and returns the one sentence or two that it ends with. */
async function refusal({ url, secret = redisSecret, nodeArgs = [] }: Start): Promise<string> {
  const env = {
    SERVICE_STORE_KIND: "redis",
    SERVICE_STORE_URL: url,
    SERVICE_STORE_SECRET: secret,
    SERVICE_LAUNCHER_TOKEN: "launcher-token-of-the-test-with-43-characters",
  };
  const args = ["-no-browser", "-no-tray", "-port", "0"];
  await using launcher = await spawnLauncher({ args, nodeArgs, env });
  expect(await launcher.ended).toEqual({ code: 1, signal: null });
  const lines = launcher.stderr().split("\n").filter(Boolean);
  expect(lines).toHaveLength(1);
  expect(lines[0]).not.toContain(secret);
  return lines[0]!;
}

describe("the launcher", () => {
  test("refuses a Redis server that is too old", async () => {
    await using server = await startFakeRedis({
      redis_version: "6.2.14",
      redis_mode: "standalone",
    });
    expect(await refusal(server)).toBe(
      "doorward: The Redis server has version 6.2.14. Use Redis 7.0 or newer, or Valkey.",
    );
  });

  test("refuses to start without the package ioredis", async () => {
    const url = "redis://127.0.0.1:1";
    expect(await refusal({ url, nodeArgs: ["--require", hidden] })).toMatch(
      /^doorward: The setting "store\.kind" is "redis", and the package ioredis is not installed\. Run: npm install ioredis@6$/,
    );
  });

  test("refuses a short secret", async () => {
    const url = "redis://127.0.0.1:1";
    expect(await refusal({ url, secret: "short-one" })).toContain("SERVICE_STORE_SECRET");
  });
});

describe.skipIf(!hasRedis)("the launcher with a real Redis server", () => {
  test("refuses a server that evicts keys", async () => {
    await using server = await startRedis(["--maxmemory-policy", "allkeys-lru"]);
    expect(await refusal(server)).toMatch(/maxmemory-policy allkeys-lru\)\. Set maxmemory-policy/);
  });

  test("refuses a server of a cluster", async () => {
    await using server = await startRedis(["--cluster-enabled", "yes"]);
    expect(await refusal(server)).toBe(
      "doorward: Redis Cluster is not supported. Use a single server, or Sentinel.",
    );
  });

  test("refuses a secret that differs from the other nodes", async () => {
    await using server = await startRedis();
    const node = await openRedisNode({ url: server.url });
    try {
      const refused = await refusal({ url: server.url, secret: redisSecret.toUpperCase() });
      expect(refused).toMatch(/^doorward: The setting "store\.secret" is not the one of the other/);
    } finally {
      await node.close();
    }
  });
});
