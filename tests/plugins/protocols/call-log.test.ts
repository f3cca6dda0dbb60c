import { describe, expect, test } from "vitest";
import { CallLog } from "../../../plugins/protocols/follower.ts";

const call = { id: "c1", name: "look", arguments: "{}" };
const done = { ...call, result: "blue" };
const nothing = { isCall: false, isResult: false };

describe("CallLog", () => {
  test("reports a call once, and its result once", () => {
    const update = new CallLog();
    expect(update.add("a", call)).toEqual({ isCall: true, isResult: false });
    expect(update.add("a", call)).toEqual(nothing);
    expect(update.add("a", done)).toEqual({ isCall: false, isResult: true });
    expect(update.add("a", done)).toEqual(nothing);
    const later = new CallLog();
    later.add("a", call);
    expect(later.add("b", done)).toEqual({ isCall: false, isResult: true });
    expect([later.add("a", call), later.add("b", done)]).toEqual([nothing, nothing]);
  });

  test("reports calls of other messages that reuse an id", () => {
    const log = new CallLog();
    log.add("a", call);
    expect(log.add("b", call)).toEqual({ isCall: true, isResult: false });
    expect(log.add("b", { ...call, error: "lost" })).toEqual({ isCall: false, isResult: true });
    expect(log.add("c", done)).toEqual({ isCall: true, isResult: true });
  });
});
