// Measures how long a message waits whose node was killed or suspended.
import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { connect } from "../../../lib/pico-link/client.ts";
import { token } from "../../support/pico-server-harness.ts";
import { hasRedis, startRedis } from "../../support/redis-server.ts";
import { rounds } from "../../support/runs.ts";
import { startNode, type NodeProcess } from "./processes.ts";

const repeats = rounds(10);
/** The documented limit, in milliseconds. */
const maxTakeoverMs = 8_000;

function startClient({ port }: NodeProcess, sessionId: string) {
  const texts: string[] = [];
  const client = connect({
    url: `ws://127.0.0.1:${port}/pico`,
    token,
    sessionId,
    onMessage: ({ content, final }) => void (final && texts.push(content)),
  });
  onTestFinished(() => client.close());
  return { client, texts };
}

describe.skipIf(!hasRedis)("a message of a node that is gone", () => {
  test.each(["SIGKILL", "SIGSTOP"] as const)(
    "reaches another node in 8 s after %s",
    async (name) => {
      await using server = await startRedis();
      const prefix = randomUUID();
      const survivor = await startNode(server.url, prefix, 5);
      onTestFinished(() => survivor.stop());
      const waits: number[] = [];
      for (let round = 0; round < repeats; round += 1) {
        const node = await startNode(server.url, prefix, 60_000);
        onTestFinished(() => node.stop());
        const session = `s${round}`;
        const [early, late] = [startClient(node, session), startClient(survivor, session)];
        void early.client.send("owned").accepted.catch(() => undefined);
        await vi.waitFor(() => expect(node.received).toHaveLength(1), 15_000);
        const sent = late.client.send("passed").accepted;
        const before = survivor.received.length;
        const startedAt = performance.now();
        node.child.kill(name);
        early.client.close();
        await vi.waitFor(() => expect(survivor.received.length).toBeGreaterThan(before), {
          timeout: 30_000,
          interval: 10,
        });
        waits.push(Math.round(performance.now() - startedAt));
        await sent;
        await vi.waitFor(() => expect(late.texts).toContain("re passed"), 15_000);
        late.client.close();
        await node.stop();
      }
      console.log(`${name}: taken over after ${waits.join(", ")} ms`);
      expect(Math.max(...waits)).toBeLessThan(maxTakeoverMs);
    },
    600_000,
  );
});
