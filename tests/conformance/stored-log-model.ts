// Any schedule of appends, reads, subscriptions, failures and restarts over a SQLite store.
import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "vitest";
import { codeOf } from "../../kernel/index.ts";
import type { SequencedEntry, SessionLog } from "../../plugins/conversations/index.ts";
import {
  openConversations,
  settle,
  type OpenedConversations,
} from "../support/sqlite-conversations.ts";
import { createFolder, Disk } from "../support/sqlite-store.ts";
import { numbered } from "./session-log.ts";

const textOf = (frame: Uint8Array): string =>
  (JSON.parse(new TextDecoder().decode(frame)) as { text: string }).text;

/** Resumes as a connection does: subscribes, reads, then continues with the new entries. */
class Reader {
  readonly session: string;
  readonly seen = new Map<number, string>();
  epoch: string | undefined;
  private buffered: [number, string][] | undefined = [];

  constructor(session: string) {
    this.session = session;
  }

  onEntry({ frame, numbered: isNumbered, cursor }: SequencedEntry): void {
    if (!isNumbered) return;
    if (this.buffered) this.buffered.push([cursor.seq, textOf(frame)]);
    else this.see(cursor.seq, textOf(frame));
  }

  async join(log: SessionLog): Promise<void> {
    await log.subscribe(this.session, this, { resumes: true });
    const { top, frames } = await log.readAfter(this.session, undefined, "acknowledged");
    assert(top);
    this.epoch = top.epoch;
    frames.forEach((frame, at) => this.see(top.seq - frames.length + at + 1, textOf(frame)));
    for (const [seq, text] of this.buffered ?? []) if (seq > top.seq) this.see(seq, text);
    this.buffered = undefined;
  }

  private see(seq: number, text: string): void {
    assert.equal(seq, Math.max(0, ...this.seen.keys()) + 1, "a hole or a number twice");
    this.seen.set(seq, text);
  }
}

/** Result codes of SQLite. */
const [locked, broken] = [5, 10];

class World {
  private readonly disk = new Disk();
  private readonly folder = createFolder();
  private current!: OpenedConversations;
  private calls: Promise<unknown>[] = [];
  private readonly readers = new Set<Reader>();
  private readonly all: Reader[] = [];
  /** Texts whose append resolved, by session and number. */
  private readonly stored = new Map<string, Map<number, string>>();
  private count = 0;

  async open(): Promise<void> {
    this.current = await openConversations(this.folder, this.disk);
  }

  async run(what: string, session: string): Promise<void> {
    const { log, pass } = this.current;
    if (what === "lock") this.disk.code = locked;
    if (what === "away") this.disk.code = broken;
    if (what === "unreadable") this.disk.readCode = broken;
    if (what === "back") this.repair();
    if (what === "moment") await pass(10);
    if (what === "while") await pass(2_500);
    if (what === "silence") await pass(1_000_000);
    if (what === "turn") await settle(1);
    if (what === "append") this.append(log, session);
    if (what === "join") this.join(log, session);
    if (what === "leave") this.leave(log, session);
  }

  async stop(): Promise<void> {
    const { conversations, pass } = this.current;
    this.repair();
    await pass(10);
    await Promise.all(this.calls);
    this.calls = [];
    await conversations.close();
    this.readers.clear();
  }

  /** Compares all readers with the content of the store. */
  async check(): Promise<void> {
    const { log } = this.current;
    for (const session of ["0", "1"]) {
      const { frames } = await log.readAfter(session, undefined, "acknowledged");
      const texts = frames.map(textOf);
      assert.equal(new Set(texts).size, texts.length, "a text twice");
      for (const [seq, text] of this.stored.get(session) ?? []) assert.equal(texts[seq - 1], text);
      const readers = this.all.filter((reader) => reader.session === session && reader.epoch);
      for (const { seen } of readers)
        for (const [seq, text] of seen) assert.equal(texts[seq - 1], text);
      assert(new Set(readers.map(({ epoch }) => epoch)).size < 2, "two epochs");
    }
  }

  private repair(): void {
    this.disk.code = undefined;
    this.disk.readCode = undefined;
  }

  private append(log: SessionLog, session: string): void {
    const text = `${(this.count += 1)}`;
    const stored = this.stored.get(session) ?? new Map<number, string>();
    this.stored.set(session, stored);
    const appended = (async () => log.append(session, numbered(text)))().then(
      ({ cursor }) => void stored.set(cursor!.seq, text),
      (error: unknown) => assert.equal(codeOf(error), "store_unavailable"),
    );
    this.calls.push(appended);
  }

  private join(log: SessionLog, session: string): void {
    const reader = new Reader(session);
    this.readers.add(reader);
    this.all.push(reader);
    const joined = reader.join(log).catch((error: unknown) => {
      if (codeOf(error) !== "store_unavailable") throw error;
      this.readers.delete(reader);
    });
    this.calls.push(joined);
  }

  private leave(log: SessionLog, session: string): void {
    const reader = [...this.readers].find((one) => one.session === session && one.epoch);
    if (!reader) return;
    this.readers.delete(reader);
    log.unsubscribe(session, reader);
  }
}

interface Step {
  readonly do: string;
  readonly session: number;
}

const sessionStep = (weight: number, what: string) => ({
  weight,
  arbitrary: fc.record<Step>({ do: fc.constant(what), session: fc.nat(1) }),
});
const step = fc.oneof(
  sessionStep(6, "append"),
  sessionStep(2, "join"),
  sessionStep(1, "leave"),
  ...[
    "lock",
    "away",
    "unreadable",
    "back",
    "back",
    "turn",
    "moment",
    "while",
    "silence",
    "restart",
  ].map((what) => ({
    weight: 1,
    arbitrary: fc.record<Step>({ do: fc.constant(what), session: fc.constant(0) }),
  })),
);

/** Defines the properties that the log must have. */
export function storedLogProperties(numRuns: number): void {
  describe("any schedule", () => {
    test("gives each reader every stored entry once, in one order", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
          const world = new World();
          await world.open();
          const restart = async (): Promise<void> => {
            await world.stop();
            await world.open();
          };
          for (const next of steps) {
            if (next.do === "restart") await restart();
            else await world.run(next.do, `${next.session}`);
          }
          await restart();
          await world.check();
          await world.stop();
        }),
        { numRuns },
      );
    });
  });
}
