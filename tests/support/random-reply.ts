// Replies with random texts, thoughts, tool calls, failures and stops.
import type { ReplyStream } from "../../plugins/channels/index.ts";
import type { Handler } from "./protocol-service.ts";

type Random = () => number;

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
        const call = { id: `c${step}`, name: "look", arguments: pick(random, ["{}", "{"]) };
        const ends = [{}, { result: "blue" }, { result: '{"at":1}' }, { error: "No network" }];
        await message.reply({ content: "", kind: "tool_calls", toolCalls: [call] });
        const toolCalls = [{ ...call, ...pick(random, ends) }];
        if (random() < 0.7) await message.reply({ content: "", kind: "tool_calls", toolCalls });
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
