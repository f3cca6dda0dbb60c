// Builds the calls that append entries.
import type { Cursor, LogEntry } from "../../log/session-log.ts";
import { payloadOf, toTitle } from "../sqlite/frames.ts";
import type { ScriptCall } from "./call-queue.ts";
import type { SessionPlace } from "./keys.ts";
import type { RedisLogContext } from "./log-context.ts";

interface AppendDraft {
  /** Number of the append of this node. */
  readonly counter: number;
  /** Fields that describe the entry, as JSON without braces. */
  readonly head: string;
  readonly call: ScriptCall;
}

interface DraftOptions {
  /** Channel and session as JSON. */
  readonly address: string;
  /** Fence of this node, if it has the session. */
  readonly fence: string;
  readonly limits: { readonly frames: number; readonly bytes: number };
}

const operations: Readonly<Record<string, string>> = {
  "message.user": "user",
  "message.create": "create",
  "message.update": "update",
  "message.delete": "delete",
};
/** Sessions whose last known number is kept. */
const maxTops = 10_000;
const flag = (value: boolean): string => (value ? "1" : "0");

export class AppendDrafts {
  private readonly context: RedisLogContext;
  /** Least recently used first. */
  private readonly tops = new Map<string, Cursor>();

  constructor(context: RedisLogContext) {
    this.context = context;
  }

  create(
    { sk, keys }: SessionPlace,
    entry: LogEntry,
    { address, fence, limits }: DraftOptions,
  ): AppendDraft {
    const { node, settings, space } = this.context;
    const counter = (node.appends += 1);
    const head = this.headOf(entry, counter);
    const { message = "", numbered, frame } = entry;
    const op = operations[entry.type ?? ""] ?? "other";
    const title = op === "user" ? toTitle(String(payloadOf(frame).content ?? "")) : "";
    const values = [
      ...this.seen(sk),
      fence,
      node.me,
      counter,
      flag(numbered),
      message,
      head,
      Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength),
      limits.frames,
      limits.bytes,
      settings.keepMs,
      flag(settings.replicas === 0),
      op,
      title,
      address,
      sk,
      space.nodes,
      Math.floor(settings.keepMs / 12),
    ];
    const bytes = frame.byteLength;
    return { counter, head, call: { script: "append", keys, values, bytes, repeats: numbered } };
  }

  /** A fresh epoch, and the highest number of the session that this node knows. */
  seen(sk: string): [fresh: string, epoch: string, seq: number] {
    const fresh = Buffer.from(this.context.random(8)).toString("hex");
    const { epoch = "", seq = 0 } = this.tops.get(sk) ?? {};
    return [fresh, epoch, seq];
  }

  noteTop(sk: string, epoch: string, seq: number): void {
    const before = this.tops.get(sk);
    if (before?.epoch === epoch && before.seq >= seq) return;
    this.tops.delete(sk);
    this.tops.set(sk, { epoch, seq });
    if (this.tops.size > maxTops) this.tops.delete(this.tops.keys().next().value!);
  }

  private headOf({ numbered, message, type, request, final }: LogEntry, counter: number): string {
    const { node, clock } = this.context;
    const head = {
      n: node.me,
      c: counter,
      k: numbered ? 1 : 0,
      ...(message !== undefined && { m: message }),
      ...(type !== undefined && { t: type }),
      ...(request !== undefined && { q: request }),
      ...(final && { f: 1 }),
      a: clock.now(),
    };
    return JSON.stringify(head).slice(1, -1);
  }
}
