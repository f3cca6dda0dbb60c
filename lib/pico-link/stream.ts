import type { Cursor, Gap, Hello, Numbered } from "../pico-wire/index.ts";
import * as bounds from "./bounds.ts";
import * as timing from "./timing.ts";
import { effect, note, set, tell, type Run } from "./run.ts";
import type { LinkGap } from "./types.ts";
import { wait } from "./verdicts.ts";

/* The place in the session's stream: every numbered frame is seen once, or a gap says that it will not be. */

function gap(run: Run, gap: LinkGap): void {
  tell(run, "onGap", gap);
  set(run, { parts: [] });
}

/** The server says where it stands, and whether it can go on from where we are. When a gap is to follow, the old place
 *  is kept until it has come: a connection may end in between. */
export function hello(run: Run, hello: Hello): void {
  const { epoch, seq, replay, resumed } = hello;
  const next = { epoch, seq: Math.max(0, seq - replay) };
  note(run, { mode: "extension" });
  set(run, { hello, isPlain: false });
  if (hello.gap) note(run, { next });
  else if (!resumed || run.core.cursor?.epoch !== epoch) begin(run, next);
}

/** Of another stream, or of none: what the one before kept for us is lost. */
export function begin(run: Run, cursor: Cursor | undefined): void {
  if (run.core.cursor) gap(run, { reason: "epoch_changed" });
  set(run, { cursor });
}

export function announced(run: Run, { from, to, reason }: Gap): void {
  const { cursor, connection } = run.core;
  const hasRange = from !== undefined && to !== undefined;
  if (connection?.next) set(run, { cursor: connection.next });
  else if (!hasRange) note(run, { epochIsOver: true });
  else if (cursor) set(run, { cursor: { epoch: cursor.epoch, seq: Math.max(cursor.seq, to) } });
  note(run, { next: undefined });
  gap(run, { ...(hasRange && { from, to }), reason });
}

/** Whether the frame is to be heard: without a number always, else once. */
export function isNew(run: Run, { seq, epoch }: Numbered): boolean {
  const { cursor, connection, holeAt } = run.core;
  if (seq === undefined || epoch === undefined || connection?.mode !== "extension") return true;
  note(run, { unacked: connection.unacked + 1 });
  if (cursor?.epoch === epoch) {
    if (seq <= cursor.seq) return false;
    const next = cursor.seq + 1;
    if (seq > next && holeAt !== next) {
      set(run, { holeAt: next });
      wait(run, "hole");
      return false;
    }
    if (seq > next) gap(run, { from: next, to: seq - 1, reason: "missing" });
  } else if (cursor && !connection.epochIsOver) gap(run, { reason: "epoch_changed" });
  note(run, { epochIsOver: false });
  set(run, { cursor: { epoch, seq } });
  return true;
}

/** Tells the server what has arrived: it may forget it. */
export function acknowledge(run: Run, at = ackAt(run.core)): void {
  const { cursor } = run.core;
  if (!cursor || at > run.now) return;
  effect(run, {
    type: "write",
    text: JSON.stringify({ type: "ack", payload: { seq: cursor.seq } }),
  });
  note(run, { unacked: 0, ackedAt: run.now });
}

export function ackAt({ connection }: Run["core"]): number {
  if (!connection?.unacked) return Infinity;
  return connection.ackedAt + (connection.unacked < bounds.unacked ? timing.ack : 0);
}
