import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  FrameWindow,
  PendingReceipts,
  SequenceBuffer,
} from "../../../../plugins/conversations/log/sequence.ts";
import { runs } from "../../../support/runs.ts";

describe("SequenceBuffer", () => {
  test("keeps items by number until they are removed", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -60, max: 80 }), { maxLength: 60 }), (steps) => {
        const sequenceBuffer = new SequenceBuffer<number>();
        const all: number[] = [];
        let first = 1;
        for (const step of steps) {
          for (let n = 0; n < step; n++) {
            sequenceBuffer.push(all.length + 1);
            all.push(all.length + 1);
          }
          for (let n = 0; n > step; n--)
            expect(sequenceBuffer.shift()).toBe(first <= all.length ? first++ : undefined);
          expect([sequenceBuffer.first, sequenceBuffer.next, sequenceBuffer.length]).toEqual([
            first,
            all.length + 1,
            all.length + 1 - first,
          ]);
          expect(sequenceBuffer.from(0)).toEqual(all.slice(first - 1));
          expect(sequenceBuffer.from(first + 3)).toEqual(all.slice(first + 2));
          if (sequenceBuffer.length > 0)
            expect([sequenceBuffer.at(first), sequenceBuffer.at(all.length)]).toEqual([
              first,
              all.length,
            ]);
        }
      }),
      { numRuns: runs(100) },
    );
  });
});

describe("FrameWindow", () => {
  test("finds the messages of clients", () => {
    const window = new FrameWindow(7);
    const frame = { frame: Buffer.from("{}"), numbered: true } as const;
    window.push(frame);
    window.push({ ...frame, type: "message.user", request: "r1" });
    window.push(frame);
    expect([6, 7, 8, 9].map((number) => window.isTurn(number))).toEqual([
      false,
      false,
      true,
      false,
    ]);
    expect([window.hasRequest("r1"), window.hasRequest("r2")]).toEqual([true, false]);
  });
});

/** A simple model: a list that is searched. */
function createModel() {
  let list: { seq: number; id: string }[] = [];
  let seq = 0;
  return {
    open: () => list.map(({ id }) => id),
    push: (id: string | undefined) => void ((seq += 1), id !== undefined && list.push({ seq, id })),
    take(after: number, upTo: number): string[] {
      const isIn = (each: { seq: number }): boolean => each.seq > after && each.seq <= upTo;
      const taken = list.filter(isIn);
      list = list.filter((each) => !isIn(each));
      return [...new Set(taken.map(({ id }) => id))].filter(
        (id) => !list.some((each) => each.id === id),
      );
    },
    forget: (upTo: number) => void (list = list.filter((each) => each.seq > upTo)),
  };
}

describe("PendingReceipts", () => {
  test("returns acknowledged messages once and forgets old numbers", () => {
    const id = fc.option(fc.constantFrom("a", "b", "c", "d", "e"), { nil: undefined });
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.record({ push: id }) },
      fc.record({ take: fc.tuple(fc.nat(80), fc.nat(120)) }),
      fc.record({ forget: fc.nat(60) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const receipts = new PendingReceipts();
        const model = createModel();
        for (const each of steps) {
          if ("take" in each) {
            const [after, upTo] = each.take;
            expect(receipts.acknowledge({ after, upTo })).toEqual(model.take(after, upTo));
          } else if ("forget" in each) {
            receipts.forget(each.forget);
            model.forget(each.forget);
          } else {
            receipts.push(each.push);
            model.push(each.push);
          }
          expect(receipts.open).toBe(model.open().length);
          expect(receipts.from(0).filter((known) => known !== undefined)).toEqual(model.open());
        }
      }),
      { numRuns: runs(150) },
    );
  });
});
