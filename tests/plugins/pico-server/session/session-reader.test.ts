import { describe, expect, test } from "vitest";
import type { SequencedEntry, SessionLog } from "../../../../plugins/conversations/index.ts";
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
});
