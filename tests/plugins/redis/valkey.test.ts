// Runs the session log, and two nodes, over a real Valkey server where one is installed.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { numbered, sessionLogConformance } from "../../conformance/session-log.ts";
import { both, send } from "../../support/extension-clients.ts";
import { startChannelNode } from "../../support/redis-channel-server.ts";
import { openRedisNode } from "../../support/redis-nodes.ts";
import { startRedis, type RedisServer } from "../../support/redis-server.ts";
import { findExecutables } from "../../support/tools.ts";

const { waitFor } = vi;
const [program] = findExecutables("valkey-server");
// Debian 12 has no package: .ci/valkey.mjs runs this file with the one of Debian 13.
if (program === undefined) console.warn("skipped: needs valkey-server (Debian 13: valkey-server)");

describe.skipIf(program === undefined)("Valkey", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis([], { program: program! });
  });
  afterAll(() => server.stop());

  sessionLogConformance({ keptMs: 300_000, isDurable: true, numRuns: 5 }, async (bounds) => {
    const node = await openRedisNode({ url: server.url, prefix: randomUUID(), ...bounds });
    onTestFinished(() => node.close());
    const { log, settled, told } = node;
    return { log, settled, told, pass: () => undefined };
  });

  test("passes messages, ends and stops between nodes", async () => {
    const options = { url: server.url, prefix: randomUUID() };
    const start = async () => {
      const node = await startChannelNode({
        ...options,
        app: async ({ accept, content, reply, signal }) => {
          accept();
          if (content === "wait")
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
          else await reply({ content: `re ${content}` });
        },
      });
      onTestFinished(() => node.stop());
      return node;
    };
    const [a, b] = [await start(), await start()];
    const path = `/pico?session_id=s&pico_ext=1${both}`;
    const [here, there] = [await a.connect(path), await b.connect(path)];
    here.send(send("m1"));
    await waitFor(() => expect(there.frames.at(-1)?.type).toBe("answer.end"), 10_000);
    there.send(send("m2", "wait"));
    await waitFor(() => expect(there.frames.at(-1)?.type).toBe("message.ack"), 10_000);
    there.send({ type: "message.stop", id: "x", payload: { request_id: "m2" } });
    await waitFor(
      () =>
        expect(here.frames.at(-1)?.payload).toMatchObject({ request_id: "m2", outcome: "stopped" }),
      10_000,
    );
  });

  test("rejects a cluster", async () => {
    await using cluster = await startRedis(["--cluster-enabled", "yes"], { program: program! });
    await expect(openRedisNode({ url: cluster.url })).rejects.toMatchObject({
      code: "REDIS_CLUSTER",
    });
  });

  test("begins a new epoch after it lost its data", async () => {
    const options = { url: server.url, prefix: randomUUID() };
    const node = await openRedisNode(options);
    onTestFinished(() => node.close());
    const before = await node.log.append("s", numbered("one"));
    await server.kill();
    await server.start();
    const after = await node.log.append("s", numbered("two"));
    expect(after.cursor?.epoch).not.toBe(before.cursor?.epoch);
  });
});
