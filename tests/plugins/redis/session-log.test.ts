// Runs the session log over a real Redis server.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, onTestFinished } from "vitest";
import { sessionLogConformance } from "../../conformance/session-log.ts";
import { openRedisNode } from "../../support/redis-nodes.ts";
import { hasRedis, startRedis, type RedisServer } from "../../support/redis-server.ts";

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

describe.skipIf(!hasRedis)("SessionLog over Redis", () => {
  sessionLogConformance({ keptMs: 300_000, isDurable: true, numRuns: 5 }, async (bounds) => {
    const { url } = server;
    const node = await openRedisNode({ url, prefix: randomUUID(), ...bounds });
    onTestFinished(() => node.close());
    const { log, settled, told } = node;
    return { log, settled, told, pass: () => undefined };
  });
});
