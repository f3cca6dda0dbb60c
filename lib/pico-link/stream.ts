import type { Cursor, Gap, Hello, StreamPosition } from "../pico-wire/index.ts";
import * as bounds from "./limits.ts";
import * as timing from "./limits.ts";
import { addEffect, updateConnection, update, notify, type StepContext } from "./step-context.ts";
import type { LinkGap } from "./types.ts";
import { scheduleRetry } from "./retry.ts";

/* The place in the session's stream: every numbered frame is seen once, or a gap says that it will not be. */

function reportGap(run: StepContext, gap: LinkGap): void {
  notify(run, "onGap", gap);
  update(run, { parts: [] });
}

/** The server says where it stands, and whether it can go on from where we are. When a gap is to follow, the old place
 *  is kept until it has come: a connection may end in between. */
export function handleHello(run: StepContext, hello: Hello): void {
  const { epoch, seq, replay, resumed } = hello;
  const next = { epoch, seq: Math.max(0, seq - replay) };
  updateConnection(run, { mode: "extension" });
  update(run, { hello, isPlain: false });
  if (hello.gap) updateConnection(run, { next });
  else if (!resumed || run.core.cursor?.epoch !== epoch) startStream(run, next);
}

/** Of another stream, or of none: what the one before kept for us is lost. */
export function startStream(run: StepContext, cursor: Cursor | undefined): void {
  if (run.core.cursor) reportGap(run, { reason: "epoch_changed" });
  update(run, { cursor });
}

export function handleGap(run: StepContext, { from, to, reason }: Gap): void {
  const { cursor, connection } = run.core;
  const hasRange = from !== undefined && to !== undefined;
  if (connection?.next) update(run, { cursor: connection.next });
  else if (!hasRange) updateConnection(run, { epochIsOver: true });
  else if (cursor) update(run, { cursor: { epoch: cursor.epoch, seq: Math.max(cursor.seq, to) } });
  updateConnection(run, { next: undefined });
  reportGap(run, { ...(hasRange && { from, to }), reason });
}

/** Whether the frame is to be heard: without a number always, else once. */
export function acceptNumbered(run: StepContext, { seq, epoch }: StreamPosition): boolean {
  const { cursor, connection, holeAt } = run.core;
  if (seq === undefined || epoch === undefined || connection?.mode !== "extension") return true;
  updateConnection(run, { unacked: connection.unacked + 1 });
  if (cursor?.epoch === epoch) {
    if (seq <= cursor.seq) return false;
    const next = cursor.seq + 1;
    if (seq > next && holeAt !== next) {
      update(run, { holeAt: next });
      scheduleRetry(run, "hole");
      return false;
    }
    if (seq > next) reportGap(run, { from: next, to: seq - 1, reason: "missing" });
  } else if (cursor && !connection.epochIsOver) reportGap(run, { reason: "epoch_changed" });
  updateConnection(run, { epochIsOver: false });
  update(run, { cursor: { epoch, seq } });
  return true;
}

/** Tells the server what has arrived: it may forget it. */
export function acknowledge(run: StepContext, at = ackDeadline(run.core)): void {
  const { cursor } = run.core;
  if (!cursor || at > run.now) return;
  addEffect(run, {
    type: "write",
    text: JSON.stringify({ type: "ack", payload: { seq: cursor.seq } }),
  });
  updateConnection(run, { unacked: 0, ackedAt: run.now });
}

export function ackDeadline({ connection }: StepContext["core"]): number {
  if (!connection?.unacked) return Infinity;
  return (
    connection.ackedAt + (connection.unacked < bounds.maxUnackedFrames ? timing.ackDelayMs : 0)
  );
}
