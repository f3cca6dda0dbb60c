// Compares the SQLite store with a simple model. The long suite runs more histories.
import fc from "fast-check";
import { expect, test } from "vitest";
import type {
  Batch,
  ConversationStorage,
  NewEntry,
} from "../../plugins/conversations/stores/storage.ts";
import { FakeStorage } from "../support/fake-storage.ts";
import { createFolder, entry, openStorage } from "../support/sqlite-storage-harness.ts";

const words = ["alpha", "beta", "gamma", "Delta", "épsilon"];
const sessions = ["s", "t", "u"];
const ids = ["m1", "m2", "m3", "m4"];

const piece = fc.record({
  session: fc.constantFrom(...sessions),
  op: fc.constantFrom("user", "create", "create", "update", "update", "delete", "other"),
  message: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...ids) }, fc.constant(undefined)),
  content: fc.array(fc.constantFrom(...words), { maxLength: 4 }).map((list) => list.join(" ")),
  final: fc.boolean(),
});
type Piece = typeof piece extends fc.Arbitrary<infer T> ? T : never;

const command = fc.oneof(
  { weight: 6, arbitrary: fc.array(piece, { maxLength: 12 }) },
  { weight: 1, arbitrary: fc.constantFrom("forget s", "forget t", "search", "reopen", "rename t") },
);

/** Gives the pieces the numbers that the log above would give them. */
function toBatch(pieces: readonly Piece[], tops: Map<string, number>, at: () => number): Batch {
  const streams: { channel: string; session: string; epoch: string; seq: number }[] = [];
  const entries = pieces.map(({ session, op, message, content, final }) => {
    const seq = (tops.get(session) ?? 0) + 1;
    if (!tops.has(session))
      streams.push({ channel: "pico", session, epoch: "00000000000000aa", seq: 0 });
    tops.set(session, seq);
    const isFinal = op === "user" || op === "delete" || final;
    return entry(seq, op as NewEntry["op"], message, content, {
      session,
      final: isFinal,
      at: at(),
    });
  });
  const taken = entries
    .filter(({ op, message }) => op === "user" && message !== undefined)
    .map(({ channel, session, message, at: time }) => ({
      channel,
      session,
      id: message!,
      digest: `d-${message}`,
      at: time,
      stopped: message === "m4",
    }));
  const positions = [...tops].map(([session, seq]) => ({
    channel: "pico",
    session,
    written: seq,
    plain: 0,
    acknowledged: Math.max(0, seq - 1),
    resumes: seq % 2 === 0,
  }));
  return { streams, entries, taken, positions };
}

/** Everything that readers can see, with the session in place of the id. */
async function view(storage: ConversationStorage, limit: number) {
  const conversations = [];
  for (let before: string | undefined; ;) {
    const page = await storage.list({ limit: 2, ...(before !== undefined && { before }) });
    conversations.push(...page.items);
    before = page.before;
    if (before === undefined) break;
  }
  const seen = [];
  for (const { id, ...summary } of conversations) {
    const pages = [];
    for (let before: string | undefined; ;) {
      const page = await storage.read(id, { limit, ...(before !== undefined && { before }) });
      pages.push(page.items);
      before = page.before;
      if (before === undefined) break;
    }
    const after = await storage.read(id, { after: ":2", limit });
    const { epoch: _, ...stream } = (await storage.load({
      channel: "pico",
      session: summary.session,
    }))!;
    const frames = stream.frames.map(({ seq, message, frame }) => ({
      seq,
      message,
      text: Buffer.from(frame).toString(),
    }));
    const document = [];
    for await (const part of storage.export(id, "json")) document.push(part);
    const text = document.join("").replaceAll(id, "ID");
    seen.push({ summary, pages, after: after.items, stream: { ...stream, frames }, text });
  }
  return seen;
}

async function found(storage: ConversationStorage, text: string): Promise<string[]> {
  const hits = await storage.search(text, { limit: 100 });
  return hits
    .map(({ conversation, turn }) => `${conversation.session}:${turn.seq}:${turn.content}`)
    .toSorted();
}

const idOf = async (storage: ConversationStorage, session: string) =>
  (await storage.find({ channel: "pico", session }))?.id;

/** Defines the test that the SQLite store behaves as the model for this many histories. */
export function storageModelConformance(numRuns: number): void {
  test("behaves as the model for every history", { timeout: 120_000 }, async () => {
    const scenario = fc.array(command, { minLength: 1, maxLength: 12 });
    const check = async (commands: readonly (string | Piece[])[], limit: number) => {
      const now = { at: 5_000 };
      const clock = {
        now: () => now.at,
        monotonic: () => now.at,
        setTimeout: () => 0,
        clearTimeout: () => {},
      };
      const path = createFolder();
      let storage = await openStorage({ path, clock });
      const model = new FakeStorage(clock.now);
      const tops = new Map<string, number>();
      for (const step of commands) {
        if (typeof step !== "string") {
          const batch = toBatch(step, tops, () => ++now.at);
          await Promise.all([storage.commit(batch), model.commit(batch)]);
          continue;
        }
        const [name, session = ""] = step.split(" ");
        if (name === "search") await storage.search("alpha");
        if (name === "reopen") {
          await storage.close();
          storage = await openStorage({ path, clock });
        }
        for (const each of name === "forget" || name === "rename" ? [storage, model] : []) {
          const id = await idOf(each, session);
          if (id === undefined) continue;
          if (name === "rename") await each.rename(id, "Chosen");
          else await each.forget(id);
          if (name === "forget") tops.delete(session);
        }
      }
      expect(await view(storage, limit)).toEqual(await view(model, limit));
      for (const text of ["alpha", "DELTA", "alpha beta"])
        expect(await found(storage, text)).toEqual(await found(model, text));
      await storage.close();
    };
    await fc.assert(fc.asyncProperty(scenario, fc.integer({ min: 1, max: 5 }), check), {
      numRuns,
    });
  });
}
