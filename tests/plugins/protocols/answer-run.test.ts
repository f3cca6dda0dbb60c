import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AnswerEnd } from "../../../plugins/channels/index.ts";
import { AnswerRun } from "../../../plugins/protocols/answer-run.ts";
import type { RunReader } from "../../../plugins/protocols/follower.ts";

const completed: AnswerEnd = { outcome: "completed", finishReason: "stop", messages: 1 };

/** Collects the text of each message, and takes parts only while `open` is true. */
class Collector implements RunReader {
  readonly texts = new Map<string, string>();
  readonly closedIds: string[] = [];
  readonly pieces: string[] = [];
  ends = 0;
  open = true;

  isWritable(): boolean {
    return this.open;
  }
  grew(id: string, _kind: string, more: string): void {
    if (this.closedIds.includes(id)) throw new Error(`${id} grows after its end`);
    this.pieces.push(more);
    this.texts.set(id, (this.texts.get(id) ?? "") + more);
  }
  replaced(id: string, _kind: string, whole: string): void {
    this.texts.set(id, whole);
  }
  closed(id: string): void {
    this.closedIds.push(id);
  }
  attachments(): void {}
  toolCall(): void {}
  toolResult(): void {}
  asked(): void {}
  settled(): void {}
  over(): void {
    this.ends += 1;
  }
}

type Step =
  | { readonly kind: "write"; readonly id: string; readonly text: string }
  | { readonly kind: "replace"; readonly id: string; readonly text: string }
  | { readonly kind: "block" | "unblock" };

const text = fc.string({ unit: "binary", maxLength: 12 });
const id = fc.constantFrom("a", "b", "c");
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("write" as const), id, text }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("replace" as const), id, text }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("block" as const, "unblock") }) },
);

describe("AnswerRun", () => {
  test("leaves out notices, which are not the words of the agent", () => {
    const run = new AnswerRun("1", () => undefined);
    const reader = new Collector();
    run.attach(reader);
    const about = { inReplyTo: "1" };
    run.written("n", { ...about, kind: "notice", content: "started again" }, false);
    run.written("n", { ...about, kind: "notice", content: "started again, twice" }, true);
    run.written("t", { ...about, content: "hello" }, true);
    run.ended("1", completed);
    run.accepted();
    expect([...reader.texts.values()]).toEqual(["hello"]);
    expect(reader.ends).toBe(1);
  });

  test("gives each reader the final text of every message, once", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const run = new AnswerRun("1", () => undefined);
        const reader = new Collector();
        const follower = run.attach(reader);
        const texts = new Map<string, string>();
        for (const each of steps) {
          if (!("id" in each)) {
            reader.open = each.kind === "unblock";
            follower.pump();
            continue;
          }
          const before = each.kind === "write" ? (texts.get(each.id) ?? "") : "";
          texts.set(each.id, before + each.text);
          run.written(each.id, { content: texts.get(each.id)! }, false);
        }
        run.accepted();
        run.ended("1", completed);
        reader.open = true;
        follower.pump();
        follower.pump();
        for (const [key, whole] of texts)
          expect((reader.texts.get(key) ?? "").trimEnd()).toBe(whole.trimEnd());
        expect(reader.ends).toBe(1);
        const late = new Collector();
        run.attach(late).pump();
        for (const [key, whole] of texts) expect(late.texts.get(key) ?? "").toBe(whole);
      }),
    );
  });

  test("never divides a surrogate pair", () => {
    const run = new AnswerRun("1", () => undefined);
    const reader = new Collector();
    run.attach(reader);
    const whole = `${"x".repeat(64 * 1024 - 1)}😀`;
    run.written("a", { content: whole.slice(0, -1) }, false);
    run.written("a", { content: whole }, true);
    expect(reader.pieces.join("")).toBe(whole);
    expect(reader.pieces.every((piece) => piece.isWellFormed())).toBe(true);
  });

  test("holds nothing for a reader that takes nothing", () => {
    const run = new AnswerRun("1", () => undefined);
    const reader = new Collector();
    reader.open = false;
    const follower = run.attach(reader);
    let content = "";
    for (let index = 0; index < 1_000; index++)
      run.written("a", { content: (content += "0123456789") }, false);
    reader.open = true;
    follower.pump();
    expect(reader.pieces).toEqual([content]);
  });

  test("ignores replies to other messages and texts after the end", () => {
    const run = new AnswerRun("1", () => undefined);
    const reader = new Collector();
    run.attach(reader);
    run.written("a", { content: "other", inReplyTo: "2" }, true);
    run.ended("2", completed);
    run.written("b", { content: "own", inReplyTo: "1" }, true);
    run.accepted();
    run.ended("1", completed);
    run.written("c", { content: "late" }, true);
    expect([...reader.texts.values(), reader.ends]).toEqual(["own", 1]);
  });

  test("reports a rejected message by its error, not by its end", () => {
    const ends: unknown[] = [];
    const run = new AnswerRun("1", (end) => void ends.push(end.error));
    const error = new Error("refused");
    run.ended("1", { outcome: "failed", code: "internal", finishReason: "error", messages: 0 });
    run.rejected(error);
    expect(ends).toEqual([error]);
  });
});
