// Runs random replies, reads their streams, and checks the order and the schema of the chunks.
import { expect } from "vitest";
import type { ReplyStream } from "../../../plugins/channels/index.ts";
import { authorization, startAiSdk, type Handler, type Library } from "./harness.ts";

type Random = () => number;

interface Chunk {
  readonly type: string;
  readonly id?: string;
}

/** A generator with a seed, so that a failure can be repeated. */
export function createRandom(seed: number): Random {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const words = ["a", "Hello ", "😀", "\n\n", '"quoted"', "é", "data: [DONE]\n\n", "\u2028"];
const pick = <T>(random: Random, list: readonly T[]): T =>
  list[Math.floor(random() * list.length)]!;

/** A reply with texts, thoughts, tool calls, files, replaced text, failures and stops. */
export const randomHandler =
  (random: Random, stop: () => void): Handler =>
  async (message) => {
    const streams: ReplyStream[] = [];
    const steps = Math.floor(random() * 12);
    for (let step = 0; step < steps; step += 1) {
      const stream = pick(random, streams);
      const action = Math.floor(random() * 9);
      if (action === 0) streams.push(message.stream({ kind: "thought" }));
      else if (action === 1) streams.push(message.stream());
      else if (action === 2 && stream) stream.replace(pick(random, words));
      else if (action === 3) {
        const toolCalls = [{ id: `c${step}`, name: "look", arguments: pick(random, ["{}", "{"]) }];
        await message.reply({ content: "", kind: "tool_calls", toolCalls });
      } else if (action === 4) {
        const attachments = [{ type: "image", url: "https://example.org/a.png" }];
        await message.reply({ content: pick(random, words), attachments });
      } else if (action === 5 && random() < 0.1) throw new Error("failed");
      else if (action === 6 && random() < 0.2) stop();
      else if (action === 7) await stream?.drained();
      else stream?.write(pick(random, words).repeat(1 + Math.floor(random() * 4)));
      if (random() < 0.3) await new Promise((done) => setImmediate(done));
    }
    for (const stream of streams) await stream.end();
  };

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
