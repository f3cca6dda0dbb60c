// Kills and suspends processes that share a Redis server, while clients send and receive.
import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { connect } from "../../../lib/pico-link/client.ts";
import { createFaultProxy } from "../../../testkit/index.ts";
import { token } from "../../support/pico-server-harness.ts";
import { hasRedis, startRedis } from "../../support/redis-server.ts";
import { startNode, type NodeProcess } from "./processes.ts";

const { waitFor } = vi;

interface FinalText {
  readonly id: string;
  readonly text: string;
}

/** A client whose connection can be moved to another node. */
async function startClient(node: NodeProcess) {
  const proxy = await createFaultProxy({ port: node.port });
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const finals: FinalText[] = [];
  const gaps: unknown[] = [];
  const client = connect({
    url: `ws://127.0.0.1:${proxy.port}/pico`,
    token,
    sessionId: "s",
    onMessage: ({ id, content, final }) => {
      if (final) finals.push({ id, text: content });
    },
    onGap: (gap) => gaps.push(gap),
  });
  onTestFinished(() => client.close());
  return {
    client,
    gaps,
    finals,
    texts: () => finals.map(({ text }) => text),
    moveTo(next: NodeProcess) {
      proxy.lead(next.port);
      proxy.cut();
    },
  };
}

async function start(url: string, prefix: string, delay?: number): Promise<NodeProcess> {
  const node = await startNode(url, prefix, delay);
  onTestFinished(() => node.stop());
  return node;
}

describe.skipIf(!hasRedis)("a node process", () => {
  test("loses no message when it is killed, in the same epoch", async () => {
    await using server = await startRedis();
    const prefix = randomUUID();
    let current = await start(server.url, prefix, 5);
    const peer = await startClient(current);
    const rounds = 4;
    const sent: string[] = [];
    let number = 0;
    for (let round = 0; round < rounds; round += 1) {
      const next = await start(server.url, prefix, 5);
      const sending = Array.from({ length: 6 }, async () => {
        const text = `${(number += 1)}`;
        sent.push(text);
        await peer.client.send(text).accepted;
      });
      await waitFor(() => expect(current.received.length).toBeGreaterThan(0), 15_000);
      await current.stop();
      peer.moveTo(next);
      await Promise.all(sending);
      current = next;
    }
    const answered = () => new Set(peer.texts().map((text) => text.slice(3)));
    // An accepted message whose answer was cut by the kill has no further text.
    await waitFor(() => expect(answered().size).toBeGreaterThan(sent.length - 2 * rounds), 20_000);
    const ids = peer.finals.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(peer.gaps).toEqual([]);
  });

  test("shows no late answer after it was suspended", async () => {
    await using server = await startRedis();
    const prefix = randomUUID();
    const [a, b] = [await start(server.url, prefix, 700), await start(server.url, prefix, 20)];
    const peer = await startClient(b);
    const early = await startClient(a);
    await early.client.send("zero").accepted;
    await waitFor(() => expect(a.received).toHaveLength(1), 5_000);
    await waitFor(() => expect(peer.texts()).toEqual(["re zero"]), 5_000);
    const sending = peer.client.send("one").accepted;
    await waitFor(() => expect(a.received).toHaveLength(2), 5_000);
    const stoppedAt = performance.now();
    a.child.kill("SIGSTOP");
    await sending;
    await waitFor(() => expect(peer.texts()).toEqual(["re zero", "re one"]), 15_000);
    expect(performance.now() - stoppedAt).toBeLessThan(9_000);
    expect(b.received).toHaveLength(1);
    a.child.kill("SIGCONT");
    await peer.client.send("two").accepted;
    await waitFor(() => expect(peer.texts()).toEqual(["re zero", "re one", "re two"]), 15_000);
    expect(peer.gaps).toEqual([]);
  });
});
