// Runs random replies, reads their streams, and checks the order and the schema of the chunks.
import { expect } from "vitest";
import { createRandom, randomHandler } from "../../../support/random-reply.ts";
import { authorization, startAiSdk, type Library } from "./harness.ts";

interface Chunk {
  readonly type: string;
  readonly id?: string;
}

/** Checks that parts open and close in pairs, and that the stream says how it ends. */
function assertOrder(chunks: readonly Chunk[]): void {
  expect(chunks.slice(0, 2).map(({ type }) => type)).toEqual(["start", "start-step"]);
  expect(["finish", "abort", "error"]).toContain(chunks.at(-1)!.type);
  const open = new Set<string>();
  const seen = new Set<string>();
  for (const { type, id = "" } of chunks) {
    const [, verb] = /^(?:text|reasoning)-(start|delta|end)$/.exec(type) ?? [];
    if (verb === "start") {
      expect(seen.has(id)).toBe(false);
      open.add(id);
      seen.add(id);
    } else if (verb !== undefined) expect(open.has(id)).toBe(true);
    if (verb === "end") open.delete(id);
  }
  expect(open.size).toBe(0);
}

/** Runs `count` random replies, each read to its end. */
export async function checkRandomStreams(
  libraries: readonly Library[],
  { count, seed }: { readonly count: number; readonly seed: number },
): Promise<void> {
  const random = createRandom(seed);
  const schemas = libraries.map((each) => each.asSchema(each.uiMessageChunkSchema));
  await using service = await startAiSdk();
  const ends = new Set<string>();
  for (let run = 0; run < count; run += 1) {
    const id = `run-${run}`;
    const stop = (): void =>
      void service.channels.stop({ channel: "pico", session: `ai_sdk/${id}` });
    service.state.handler = randomHandler(random, stop);
    const message = { id: "u", role: "user", parts: [{ type: "text", text: "hi" }] };
    const response = await fetch(`${service.base}/chat`, {
      method: "POST",
      headers: { ...authorization, "Content-Type": "application/json" },
      body: JSON.stringify({ id, messages: [message] }),
    });
    const text = await response.text();
    if (response.status !== 200) {
      expect([409, 500]).toContain(response.status);
      continue;
    }
    const events = text.split("\n\n").filter((event) => event.startsWith("data: "));
    expect(events.at(-1)).toBe("data: [DONE]");
    const chunks = events.slice(0, -1).map((event) => JSON.parse(event.slice(6)) as Chunk);
    assertOrder(chunks);
    ends.add(chunks.at(-1)!.type);
    for (const schema of schemas)
      for (const chunk of chunks)
        expect((await schema.validate(chunk)).success, JSON.stringify(chunk)).toBe(true);
  }
  if (count >= 50) expect(ends.has("finish")).toBe(true);
}
