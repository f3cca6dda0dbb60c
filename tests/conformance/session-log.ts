// Conformance tests for implementations of the session log.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Awaitable } from "../../kernel/index.ts";
import type { Cursor, SequencedEntry, SessionLog } from "../../plugins/conversations/index.ts";
import { turnConformance } from "./session-turns.ts";

export interface LogStand {
  readonly log: SessionLog;
  /** `id status reason?` of every message it said something about. */
  readonly settled: string[];
  pass(ms: number): Awaitable<void>;
  /** Resolves when `settled` has the news of all notes so far. Absent: it has them immediately. */
  told?(): Awaitable<void>;
}
export interface LogBounds {
  /** Of one stream; default 256 frames or 512 KiB. */
  readonly window?: { readonly frames: number; readonly bytes: number };
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(JSON.stringify({ text }));
const textOf = (frame: Uint8Array): string =>
  (JSON.parse(new TextDecoder().decode(frame)) as { text: string }).text;
export const numbered = (text: string) => ({ frame: bytes(text), numbered: true, message: text });
export const partial = (text: string, message: string) => ({
  frame: bytes(text),
  numbered: false,
  message,
});

export interface LogTraits {
  /** How long memory keeps a stream after its last subscriber, in milliseconds. */
  readonly keptMs: number;
  /** True if a store keeps the streams that leave memory. */
  readonly isDurable: boolean;
  /** Runs of each property. @defaultValue `40` */
  readonly numRuns?: number;
}

/** Defines the tests that every session log must pass. */
export function sessionLogConformance(
  { keptMs, isDurable, numRuns = 40 }: LogTraits,
  make: (bounds?: LogBounds) => Awaitable<LogStand>,
): void {
  async function listening(bounds?: LogBounds) {
    const server = await make(bounds);
    const heard: SequencedEntry[] = [];
    const hearer = { onEntry: (entry: SequencedEntry) => void heard.push(entry) };
    await server.log.subscribe("s", hearer, { resumes: true });
    const release = () => server.log.unsubscribe("s", hearer);
    const say = async (...texts: string[]) => {
      for (const text of texts) await server.log.append("s", numbered(text));
    };
    const top = async (): Promise<Cursor> => (await server.log.top("s"))!;
    const after = async (seq: number) => server.log.readAfter("s", { ...(await top()), seq });
    return { ...server, heard, release, say, top, after };
  }

  turnConformance(isDurable, async () => {
    const { log, release, say } = await listening();
    return { log, release, say };
  });

  describe("sequence numbers", () => {
    test("start at one without holes, and skip unnumbered entries", async () => {
      const { log, say, heard, top } = await listening();
      await say("a");
      await log.append("s", partial("b", "m"));
      await say("c");
      expect(
        heard.map(({ frame, cursor, numbered: own }) => [textOf(frame), own, cursor.seq]),
      ).toEqual([
        ["a", true, 1],
        ["b", false, 1],
        ["c", true, 2],
      ]);
      expect(new Set(heard.map(({ cursor }) => cursor.epoch))).toEqual(
        new Set([(await top()).epoch]),
      );
    });

    test("are separate for each session", async () => {
      const { log, say, top } = await listening();
      await say("a", "b");
      expect(await log.append("other", numbered("c"))).toMatchObject({
        cursor: { seq: 1 },
        subscribers: 0,
      });
      expect((await log.top("other"))?.epoch).not.toBe((await top()).epoch);
    });

    test("are not assigned by reading", async () => {
      const { log } = await make();
      const nowhere = { epoch: "gone", seq: 3 };
      expect(await log.readAfter("s", undefined)).toEqual({
        top: undefined,
        frames: [],
        partials: [],
      });
      expect(await log.readAfter("s", nowhere)).toMatchObject({
        top: undefined,
        gap: { reason: "epoch_changed" },
      });
      expect(await log.top("s")).toBeUndefined();
    });

    test("are not assigned by unnumbered entries", async () => {
      const { log } = await make();
      expect(await log.append("s", partial("a", "m"))).toEqual({
        cursor: undefined,
        subscribers: 0,
      });
      expect(await log.top("s")).toBeUndefined();
    });
  });

  describe("readAfter", () => {
    test("returns everything after a cursor, or a gap alone", async () => {
      const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 30 });
      const windows = fc.record({ frames: fc.nat(10), bytes: fc.nat(300) });
      await fc.assert(
        fc.asyncProperty(sizes, windows, async (all, window) => {
          const { say, after, top } = await listening({ window });
          const texts = all.map((size, at) => `${at}`.padEnd(size, "x"));
          await say(...texts);
          for (let seq = 0; seq <= texts.length; seq++) {
            const rest = texts.slice(seq);
            const size = rest.reduce((sum, text) => sum + bytes(text).byteLength, 0);
            const { frames, gap } = await after(seq);
            if (rest.length <= window.frames && size <= window.bytes) {
              expect([frames.map(textOf), gap]).toEqual([rest, undefined]);
            } else
              expect([frames, gap]).toEqual([
                [],
                { reason: "overflow", from: seq + 1, to: (await top()).seq },
              ]);
          }
        }),
        { numRuns },
      );
    });

    test("returns a gap without range for a foreign epoch or position", async () => {
      const { log, say, after } = await listening();
      await say("a");
      expect(await log.readAfter("s", { epoch: "another", seq: 0 })).toMatchObject({
        gap: { reason: "epoch_changed" },
      });
      expect(await after(2)).toMatchObject({ gap: { reason: "epoch_changed" }, frames: [] });
    });

    test("returns the latest state of messages in progress only", async () => {
      const { log, after, say } = await listening();
      await log.append("s", partial("one", "m1"));
      await log.append("s", partial("two", "m2"));
      await log.append("s", partial("one, more", "m1"));
      await log.append("s", { ...numbered("two, whole"), message: "m2" });
      await say("else");
      expect((await after(1)).partials.map(textOf)).toEqual(["one, more"]);
    });

    test("returns unwritten entries to a reader without cursor", async () => {
      const { log, say, top } = await listening();
      await say("a", "b", "c");
      const { epoch } = await top();
      log.note("s", { epoch, after: 0, upTo: 2 }, "sent");
      log.note("s", { epoch: "another", after: 0, upTo: 3 }, "written");
      expect((await log.readAfter("s", undefined)).frames.map(textOf)).toEqual(["c"]);
    });

    test("returns unacknowledged entries that no plain socket received", async () => {
      const { log, say, top } = await listening();
      await say("a", "b", "c", "d");
      const { epoch } = await top();
      const rest = async () =>
        (await log.readAfter("s", undefined, "acknowledged")).frames.map(textOf);
      log.note("s", { epoch, after: 0, upTo: 4 }, "sent");
      expect(await rest()).toEqual(["a", "b", "c", "d"]);
      log.note("s", { epoch, after: 0, upTo: 1 }, "acknowledged");
      expect(await rest()).toEqual(["b", "c", "d"]);
      log.note("s", { epoch, after: 1, upTo: 3 }, "written");
      expect(await rest()).toEqual(["d"]);
    });

    test("leaves earlier entries to others after a partial read", async () => {
      const { log, say, top } = await listening();
      await say("a", "b", "c");
      const { epoch } = await top();
      log.note("s", { epoch, after: 2, upTo: 3 }, "answered");
      expect((await log.readAfter("s", undefined)).frames.map(textOf)).toEqual(["a", "b", "c"]);
      log.note("s", { epoch, after: 0, upTo: 1 }, "written");
      log.note("s", { epoch, after: 1, upTo: 2 }, "answered");
      expect((await log.readAfter("s", undefined)).frames.map(textOf)).toEqual(["c"]);
    });

    test("reports lost entries without a cursor, then returns the rest", async () => {
      const { log, say } = await listening({ window: { frames: 2, bytes: 10_000 } });
      await say("a", "b", "c", "d");
      const { gap, frames } = await log.readAfter("s", undefined);
      expect(gap).toEqual({ reason: "overflow", from: 1, to: 2 });
      expect(frames.map(textOf)).toEqual(["c", "d"]);
    });
  });

  describe("retention", () => {
    test.runIf(isDurable)("keeps a stream without subscribers in the same epoch", async () => {
      const { say, top, release, pass, after, settled } = await listening();
      await say("a", "b");
      const before = await top();
      release();
      await pass(keptMs * 3);
      expect(await top()).toEqual(before);
      expect((await after(1)).frames.map(textOf)).toEqual(["b"]);
      await say("c");
      expect(await top()).toEqual({ ...before, seq: 3 });
      expect(settled).toEqual([]);
    });

    test.skipIf(isDurable)("keeps a stream after its last subscriber for a time", async () => {
      const { say, top, release, pass, log } = await listening();
      await say("a");
      const before = await top();
      release();
      await pass(keptMs - 1);
      expect(await top()).toEqual(before);
      await pass(1);
      expect(await log.top("s")).toBeUndefined();
      await say("b");
      expect((await top()).epoch).not.toBe(before.epoch);
    });

    test("keeps an empty stream for a subscriber that returns in time", async () => {
      const { top, release, pass, log } = await listening();
      const before = await top();
      release();
      await pass(keptMs - 1);
      const again = { onEntry: () => undefined };
      await log.subscribe("s", again);
      await pass(keptMs * 3);
      expect(await top()).toEqual(before);
      log.unsubscribe("s", again);
    });

    test("sends nothing to a removed subscriber", async () => {
      const { say, release, heard } = await listening();
      release();
      release();
      await say("a");
      expect(heard).toEqual([]);
    });
  });

  describe("receipts", () => {
    test("report an acknowledged message as delivered, once", async () => {
      const { log, say, top, settled, told } = await listening();
      await say("a", "b", "c");
      const { epoch } = await top();
      log.note("s", { epoch, after: 0, upTo: 2 }, "acknowledged");
      log.note("s", { epoch, after: 0, upTo: 2 }, "acknowledged");
      await told?.();
      expect(settled).toEqual(["a delivered", "b delivered"]);
      log.note("s", { epoch, after: 0, upTo: 99 }, "acknowledged");
      await told?.();
      expect(settled).toEqual(["a delivered", "b delivered", "c delivered"]);
    });

    test("ignore acknowledgements in a gap or another epoch", async () => {
      const { log, say, top, settled, told } = await listening();
      await say("a", "b", "c");
      const { epoch } = await top();
      log.note("s", { epoch, after: 2, upTo: 3 }, "acknowledged");
      log.note("s", { epoch: "another", after: 0, upTo: 3 }, "acknowledged");
      await told?.();
      expect(settled).toEqual(["c delivered"]);
    });

    test("wait for all updates of a message", async () => {
      const { log, say, top, settled, told } = await listening();
      await say("m", "other");
      await log.append("s", { ...numbered("m, whole"), message: "m" });
      const { epoch } = await top();
      log.note("s", { epoch, after: 0, upTo: 2 }, "acknowledged");
      await told?.();
      expect(settled).toEqual(["other delivered"]);
      log.note("s", { epoch, after: 0, upTo: 3 }, "acknowledged");
      await told?.();
      expect(settled).toEqual(["other delivered", "m delivered"]);
    });

    test("report an unwritten message lost when it leaves the window", async () => {
      const { log, say, top, settled, told } = await listening({
        window: { frames: 2, bytes: 10_000 },
      });
      await say("a");
      log.note("s", { ...(await top()), after: 0, upTo: 1 }, "sent");
      await say("b", "c", "d");
      await told?.();
      expect(settled).toEqual(["b undelivered overflow"]);
      log.note("s", { ...(await top()), after: 0, upTo: 4 }, "acknowledged");
      await told?.();
      expect(settled.slice(1)).toEqual(["a delivered", "c delivered", "d delivered"]);
    });

    test.skipIf(isDurable)("report entries that a waiting request did not receive", async () => {
      const { log, say, top, settled, release, pass, told } = await listening();
      await say("a", "b", "c");
      const { epoch } = await top();
      log.note("s", { epoch, after: 2, upTo: 3 }, "answered");
      log.note("s", { epoch, after: 0, upTo: 1 }, "written");
      log.note("s", { epoch, after: 1, upTo: 2 }, "answered");
      await say("d");
      release();
      await pass(keptMs);
      await told?.();
      expect(settled).toEqual(["d undelivered expired"]);
    });

    test.skipIf(isDurable)("report unacknowledged messages lost with their stream", async () => {
      const { log, say, top, settled, release, pass, told } = await listening();
      await say("a", "b", "c", "d");
      const { epoch } = await top();
      log.note("s", { epoch, after: 0, upTo: 1 }, "acknowledged");
      log.note("s", { epoch, after: 1, upTo: 2 }, "written");
      log.note("s", { epoch, after: 2, upTo: 3 }, "sent");
      release();
      await pass(keptMs);
      await told?.();
      expect(settled).toEqual(["a delivered", "c undelivered expired", "d undelivered expired"]);
    });
  });
}
