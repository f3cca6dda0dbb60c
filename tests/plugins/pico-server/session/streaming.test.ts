import { describe, expect, test } from "vitest";
import type { ReplyStream } from "../../../../plugins/channels/index.ts";
import { startPicoServer, waitFor, type Client } from "../../../support/pico-server-harness.ts";

/* Answers that grow, as clients see them. */

async function payloads(client: Client, count: number): Promise<Record<string, unknown>[]> {
  const seen: Record<string, unknown>[] = [];
  for (let at = 0; at < count; at += 1) {
    const { type, payload } = await client.next();
    seen.push({ type, ...payload });
  }
  return seen;
}

describe("a streamed reply", () => {
  test("consists of one create, updates and a final update", async () => {
    await using testServer = await startPicoServer({
      app: async (message) => {
        await message.reply({ kind: "thought", content: "hm" });
        const toolCalls = [{ id: "c1", name: "weather", arguments: '{"city":"Ulm"}' }];
        await message.reply({ kind: "tool_calls", content: "", toolCalls });
        const answer = message.stream({ model: "m-1" });
        answer.write("Rain");
        await Promise.resolve();
        answer.write(" in Ulm.");
        await answer.end({ contextUsage: { used: 10, total: 100 } });
      },
    });
    const client = await testServer.connect();
    client.send({ type: "message.send", payload: { content: "?" } });
    const [thought, call, create, final] = await payloads(client, 4);
    expect(thought).toMatchObject({
      type: "message.create",
      kind: "thought",
      thought: true,
      content: "hm",
    });
    expect(call).toMatchObject({
      kind: "tool_calls",
      tool_calls: [
        { id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Ulm"}' } },
      ],
    });
    expect(create).toMatchObject({ type: "message.create", content: "Rain", model_name: "m-1" });
    expect(create).not.toHaveProperty("final");
    expect(final).toMatchObject({
      type: "message.update",
      message_id: create!["message_id"],
      content: "Rain in Ulm.",
      final: true,
      context_usage: { used_tokens: 10, total_tokens: 100 },
    });
  });

  test("repeats its kind in every update of a thought", async () => {
    await using testServer = await startPicoServer({
      app: async ({ stream }) => {
        const thought = stream({ kind: "thought" });
        thought.write("hm");
        await Promise.resolve();
        thought.write(", well");
        await thought.end();
      },
    });
    const client = await testServer.connect();
    client.send({ type: "message.send", id: "m1", payload: { content: "?" } });
    const frames = await payloads(client, 2);
    for (const frame of frames)
      expect(frame).toMatchObject({ kind: "thought", thought: true, request_id: "m1" });
  });

  test("stops when the last of two clients has left", async () => {
    const answers: ReplyStream[] = [];
    await using testServer = await startPicoServer({
      app: ({ stream }) => {
        for (const cancelWhenAlone of [{ afterMs: 0 }, false])
          answers.push(stream({ cancelWhenAlone }));
      },
    });
    const path = "/pico?session_id=shared";
    const [one, other] = [await testServer.connect(path), await testServer.connect(path)];
    one.send({ type: "message.send", payload: { content: "?" } });
    const [cancelled, kept] = await waitFor(() => answers.length === 2 && answers);
    one.ws.close();
    await one.closed;
    await other.settled();
    expect(cancelled!.signal.aborted).toBe(false);
    other.ws.close();
    await waitFor(() => cancelled!.signal.aborted);
    expect(kept!.signal.aborted).toBe(false);
  });
});
