// The agent is paused while much of what it sent waits for clients.
import { describe, expect, test } from "vitest";
import { createCapturedLog } from "../../../kernel/testing.ts";
import { Backlog, SendChain } from "../../../plugins/acp/flow.ts";
import { gate } from "../../support/sample-channel.ts";

/** Adds sends that wait. @returns The changes of the pause, before and after they were sent. */
async function pausesOf(lengths: readonly number[]): Promise<[boolean[], boolean[]]> {
  const changes: boolean[] = [];
  const backlog = new Backlog((isPaused) => void changes.push(isPaused));
  const chain = new SendChain(backlog, createCapturedLog().log);
  const { opened, open } = gate();
  for (const length of lengths) void chain.add(() => opened, length);
  const before = [...changes];
  open();
  await chain.drained();
  // The count of a send follows its end.
  await new Promise((done) => setImmediate(done));
  return [before, changes];
}
const mebibyte = 1_024 * 1_024;

describe("backlog", () => {
  test("pauses the agent at many sends", async () => {
    expect(await pausesOf(Array(512).fill(1))).toEqual([[], []]);
    expect(await pausesOf(Array(513).fill(1))).toEqual([[true], [true, false]]);
  });

  test("pauses the agent at few sends with much content", async () => {
    expect(await pausesOf(Array(8).fill(mebibyte))).toEqual([[], []]);
    expect(await pausesOf(Array(9).fill(mebibyte))).toEqual([[true], [true, false]]);
  });
});
