// Builds the calls that append entries.
import { BoundedMap } from "../../lib/util.ts";
import type { Cursor, LogEntry } from "../conversations/log/session-log.ts";
import { payloadOf, toTitle } from "../conversations/turn-frames.ts";
import type { ScriptCall } from "./call-queue.ts";
import type { SessionPlace } from "./keys.ts";
import type { EntryHead } from "./live-session.ts";
import type { RedisLogContext } from "./log-context.ts";
import { toMark } from "./question-index.ts";

export interface AppendDraft {
  readonly entry: LogEntry;
  /** Number of the append of this node. */
  readonly counter: number;
  /** Fields that describe the entry. */
  readonly head: Omit<EntryHead, "e" | "s">;
  readonly call: ScriptCall;
}

interface DraftOptions {
  /** Channel and session as JSON. */
  readonly address: string;
  /** Fence of this node, if it has the session. */
  readonly fence: string;
  /** @returns True while this node listens to the session. */
  readonly here: () => boolean;
}

const operations: Readonly<Record<string, string>> = {
  "message.user": "user",
  "message.create": "create",
  "message.update": "update",
  "message.delete": "delete",
  "answer.end": "end",
};
/** Sessions of which something is known. */
const maxTops = 10_000;
/** Epochs for which random bytes are made together, and bytes of one. */
const epochsAtOnce = 256;
const epochBytes = 8;

/** The data about a session that this node had from the store when it used the session. */
interface KnownSession extends Cursor {
  /** Whether a client has asked for the ends of answers; undefined if that is not known. */
  readonly wantsEnds: boolean | undefined;
  /** True if this node has appended the message of a person, which makes the title. */
  readonly hasTitle: boolean;
}

export class AppendDrafts {
  private readonly context: RedisLogContext;
  /** Least recently used first. */
  private readonly tops = new BoundedMap<string, KnownSession>(maxTops);
  private epochs = Buffer.alloc(0);

  constructor(context: RedisLogContext) {
    this.context = context;
  }

  create(
    { sk }: SessionPlace,
    entry: LogEntry,
    { address, fence, here }: DraftOptions,
  ): AppendDraft {
    const { node } = this.context;
    const counter = (node.appends += 1);
    const head = this.headOf(entry, counter);
    const { numbered, frame } = entry;
    const op = entry.question?.isQuiet ? "quiet" : (operations[entry.type ?? ""] ?? "other");
    const isRequested = op === "end" && this.tops.get(sk)?.wantsEnds === true;
    const message = isRequested ? "requested" : (entry.message ?? "");
    const needsTitle = op === "user" && !this.tops.get(sk)?.hasTitle;
    const title = needsTitle ? toTitle(String(payloadOf(frame).content ?? "")) : "";
    const [fresh, epoch, seq] = this.seen(sk);
    const text = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength);
    const fields = JSON.stringify(head).slice(1, -1);
    const about = [sk, numbered ? 1 : 0, op, message, fields, text, title, address];
    const known = entry.answers ?? (op === "user" ? (entry.request ?? "") : "");
    const mark = entry.question ? toMark(entry.question, address, head.a) : "";
    const values = [...about, fresh, epoch, seq, fence, counter, known, mark];
    const bytes = frame.byteLength;
    const repeats = numbered || op === "end";
    return {
      entry,
      counter,
      head,
      call: { script: "append", keys: [], values, here, bytes, repeats },
    };
  }

  /** A fresh epoch, and the highest number of the session that this node knows. */
  seen(sk: string): [fresh: string, epoch: string, seq: number] {
    if (this.epochs.byteLength === 0)
      this.epochs = Buffer.from(this.context.random(epochBytes * epochsAtOnce));
    const fresh = this.epochs.toString("hex", 0, epochBytes);
    this.epochs = this.epochs.subarray(epochBytes);
    const { epoch = "", seq = 0 } = this.tops.get(sk) ?? {};
    return [fresh, epoch, seq];
  }

  /** @returns False if no client of any node has asked for the ends of answers. */
  wantsEnds(sk: string): boolean {
    return this.tops.get(sk)?.wantsEnds ?? true;
  }

  /** @param wantsEnds - The answer of the store, which may be older than a later request. */
  noteTop(sk: string, { epoch, seq }: Cursor, wantsEnds?: boolean, isTurn = false): void {
    const before = this.tops.get(sk);
    const wants = before?.wantsEnds || wantsEnds;
    const isSame = before?.epoch === epoch;
    const hasTitle = isTurn || (isSame && before.hasTitle);
    const isKnown = isSame && before.seq >= seq;
    if (isKnown && before.wantsEnds === wants && before.hasTitle === hasTitle) return;
    this.tops.renew(sk, { epoch, seq: isKnown ? before.seq : seq, wantsEnds: wants, hasTitle });
  }

  /** The conversation was deleted: nothing about the next one is known. */
  forget(sk: string): void {
    this.tops.delete(sk);
  }

  /** A client of another node asks for the ends of answers. */
  noteEndsRequested(sk: string): void {
    const known = this.tops.get(sk);
    if (known) this.tops.set(sk, { ...known, wantsEnds: true });
  }

  private headOf(
    { numbered, message, type, request, final }: LogEntry,
    counter: number,
  ): AppendDraft["head"] {
    const { node, clock } = this.context;
    return {
      n: node.me,
      c: counter,
      k: numbered ? 1 : 0,
      ...(message !== undefined && { m: message }),
      ...(type !== undefined && { t: type }),
      ...(request !== undefined && { q: request }),
      ...(final && { f: 1 }),
      a: clock.now(),
    };
  }
}
