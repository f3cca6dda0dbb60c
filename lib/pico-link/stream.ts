// Tracks the position in the stream of a session.
import type { Cursor, Gap, Hello, StreamPosition } from "../pico-wire/index.ts";
import * as limits from "./limits.ts";
import { addEffect, updateConnection, update, notify, type StepContext } from "./step-context.ts";
import type { ChatGap } from "./types.ts";
import { scheduleRetry } from "./retry.ts";

// Every numbered frame is delivered once, or a gap reports that it is missing.

function reportGap(context: StepContext, gap: ChatGap): void {
  notify(context, "onGap", gap);
  update(context, { parts: [] });
}

/**
 * The server reports its position, and whether it can resume the stream. If a gap frame follows,
 * the old cursor is kept until it arrives, because the connection may end before.
 */
export function handleHello(context: StepContext, hello: Hello): void {
  const { epoch, seq, replay, resumed } = hello;
  const next = { epoch, seq: Math.max(0, seq - replay) };
  const open = hello.questions && { ids: hello.questions, replay };
  updateConnection(context, { mode: "extension", open });
  update(context, { hello, isPlain: false });
  if (hello.gap) updateConnection(context, { next });
  else if (!resumed || context.core.cursor?.epoch !== epoch) startStream(context, next);
}

/** Starts another stream, or none. Frames that the server kept in the old one are lost. */
export function startStream(context: StepContext, cursor: Cursor | undefined): void {
  if (context.core.cursor) reportGap(context, { reason: "epoch_changed" });
  update(context, { cursor });
}

export function handleGap(context: StepContext, { from, to, reason }: Gap): void {
  const { cursor, connection } = context.core;
  const hasRange = from !== undefined && to !== undefined;
  if (connection?.next) update(context, { cursor: connection.next });
  else if (!hasRange) updateConnection(context, { epochIsOver: true });
  else if (cursor)
    update(context, { cursor: { epoch: cursor.epoch, seq: Math.max(cursor.seq, to) } });
  updateConnection(context, { next: undefined });
  reportGap(context, { ...(hasRange && { from, to }), reason });
}

/** Whether to deliver the frame: always if it has no number, otherwise once. */
export function acceptNumbered(context: StepContext, { seq, epoch }: StreamPosition): boolean {
  const { cursor, connection, holeAt } = context.core;
  if (seq === undefined || epoch === undefined || connection?.mode !== "extension") return true;
  updateConnection(context, { unacked: connection.unacked + 1 });
  if (cursor?.epoch === epoch) {
    if (seq <= cursor.seq) return false;
    const next = cursor.seq + 1;
    if (seq > next && holeAt !== next) {
      update(context, { holeAt: next });
      scheduleRetry(context, "hole");
      return false;
    }
    if (seq > next) reportGap(context, { from: next, to: seq - 1, reason: "missing" });
  } else if (cursor && !connection.epochIsOver) reportGap(context, { reason: "epoch_changed" });
  updateConnection(context, { epochIsOver: false });
  update(context, { cursor: { epoch, seq } });
  return true;
}

/** Acknowledges the received frames, so that the server can drop them. */
export function acknowledge(context: StepContext, at = ackDeadline(context.core)): void {
  const { cursor } = context.core;
  if (!cursor || at > context.now) return;
  addEffect(context, {
    type: "write",
    text: JSON.stringify({ type: "ack", payload: { seq: cursor.seq } }),
  });
  updateConnection(context, { unacked: 0, ackedAt: context.now });
}

export function ackDeadline({ connection }: StepContext["core"]): number {
  if (!connection?.unacked) return Infinity;
  return (
    connection.ackedAt + (connection.unacked < limits.maxUnackedFrames ? limits.ackDelayMs : 0)
  );
}
