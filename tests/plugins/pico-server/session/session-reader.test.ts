import { describe, expect, test } from "vitest";
import type { RunningMessage } from "../../../../plugins/channels/index.ts";
import type {
  LogEntry,
  SequencedEntry,
  SessionLog,
} from "../../../../plugins/conversations/index.ts";
import { SessionReader } from "../../../../plugins/pico-server/session/subscriptions.ts";

const frame = Buffer.from("{}");
const entry = (seq: number, epoch = "e1"): SequencedEntry =>
  ({ session: "s", cursor: { epoch, seq }, frame, numbered: true }) as SequencedEntry;

describe("SessionReader", () => {
  test("skips entries that arrive after they were read", async () => {
    const top = { epoch: "e1", seq: 2 };
    const log = {
      subscribe: () => Promise.resolve(),
      readAfter: () => Promise.resolve({ top, frames: [frame, frame], partials: [] }),
    } as unknown as SessionLog;
    const accepted: string[] = [];
    const reader = await new Promise<SessionReader>((resolve) => {
      const started = new SessionReader(log, "s", {
        begin: () => undefined,
        accept: (_, { cursor }) => accepted.push(`${cursor.epoch}:${cursor.seq}`),
        replayed: (reading) => resolve(reading),
        failed: () => undefined,
      });
      started.start({ after: undefined, resumes: false, turns: false, ends: false });
    });
    for (const late of [entry(1), entry(2), entry(3), entry(1, "e2")]) reader.onEntry(late);
    expect(accepted).toEqual(["e1:1", "e1:2", "e1:3", "e2:1"]);
  });

  const top = { epoch: "e", seq: 1 };
  const start = { top, frames: [], partials: [] };
  const unsubscribe = (): void => undefined;
  test.each([
    ["a shared log", { join: async () => start, unsubscribe }],
    ["a log in memory", { subscribe: () => undefined, readAfter: () => start, unsubscribe }],
  ])("loses no frame while the running messages are listed: %s", async (_, calls) => {
    let list = (_: readonly RunningMessage[]): void => undefined;
    const listed = new Promise<readonly RunningMessage[]>((resolve) => void (list = resolve));
    const log = calls as unknown as SessionLog;
    const seen: unknown[] = [];
    const reader = new SessionReader(log, "s", {
      begin: (_, { running }) => seen.push(running),
      accept: (_, { type, cursor }) => seen.push(`${type} ${cursor.seq}`),
      replayed: () => undefined,
      failed: (error) => seen.push(error),
    });
    const features = { resumes: true, turns: true, ends: true };
    reader.start({ after: undefined, ...features, running: () => listed });
    if ("join" in calls) await new Promise(setImmediate);
    const hear = (type: LogEntry["type"], seq: number, numbered: boolean): void => {
      const cursor = { epoch: "e", seq };
      reader.onEntry({ session: "s", cursor, numbered, type, frame: Buffer.of() });
    };
    hear("message.update", 1, true);
    hear("message.update", 2, true);
    hear("answer.end", 2, false);
    expect(seen).toEqual([]);
    list([{ id: "m1", at: 1 }]);
    await new Promise(setImmediate);
    expect(seen).toEqual([[{ id: "m1", at: 1 }], "message.update 2", "answer.end 2"]);
  });
});
