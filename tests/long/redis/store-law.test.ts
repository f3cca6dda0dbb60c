// The law of the stores, for nodes that share a Redis server.
import { describe, test } from "vitest";
import { redisLaw } from "../../conformance/redis-law.ts";
import { checkStoreLaw } from "../../conformance/store-law.ts";
import { hasRedis, startRedis } from "../../support/redis-server.ts";
import { rounds } from "../../support/runs.ts";

describe.skipIf(!hasRedis)("Redis store", () => {
  test("keeps what it acknowledged, and nothing that was forgotten", async () => {
    await using server = await startRedis();
    await checkStoreLaw(redisLaw(server), rounds(200));
  });
});
