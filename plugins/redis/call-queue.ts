// Gathers the calls of one turn of the event loop and sends them to Redis as one pipeline.
import { createHash } from "node:crypto";
import { codeOf } from "../../kernel/index.ts";
import { conversationsErrors } from "../conversations/errors.ts";
import { arity, type Operation } from "./batch-script.ts";
import type { RedisClient, RedisPipeline, Reply } from "./driver.ts";
import { scripts, type ScriptName } from "./scripts.ts";

const maxWaiting = 10_000;
const maxWaitingBytes = 16 * 1024 * 1024;
/** Calls in one pipeline: its callers learn their outcomes in one turn of the event loop. */
const maxPerTurn = 192;
/** Bytes in one run of the batch script. */
const maxBatchBytes = 1024 * 1024;
/** Milliseconds that one WAIT may take. */
const confirmMs = 500;

/** A value of a call. */
type CallValue = string | number | Buffer;

/**
 * One call of a script, one operation of the batch script, which has no keys, or `publish` for
 * messages that wait until their entries are confirmed.
 */
export interface ScriptCall {
  readonly script: ScriptName | Operation | "publish";
  readonly keys: readonly string[];
  readonly values: readonly CallValue[];
  /** Is asked before each attempt whether this node listens to the session: the last value. */
  readonly here?: () => boolean;
  /** Bytes of content, which count in the limit of waiting calls. */
  readonly bytes?: number;
  /** Its outcome is needed, so it is sent again if the connection was lost. */
  readonly repeats?: boolean;
}

interface WaitingCall extends ScriptCall {
  readonly deadline: number;
  readonly startedAt: number;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: unknown) => void;
}

interface CallQueueOptions {
  /** Milliseconds that a call may wait for its reply. */
  readonly patienceMs: number;
  /** Replicas that must have confirmed a write before its call resolves. */
  readonly replicas: number;
  /** Monotonic time in milliseconds. */
  readonly now: () => number;
  /** The connection for calls; undefined while the store is away. */
  readonly client: () => RedisClient | undefined;
  /** The two keys, and the first values, of the batch script. */
  readonly head: () => readonly CallValue[];
  readonly committed: (seconds: number) => void;
  readonly failed: (error: unknown) => void;
}

const digests = Object.fromEntries(
  Object.entries(scripts).map(([name, text]) => [
    name,
    createHash("sha1").update(text).digest("hex"),
  ]),
) as Readonly<Record<ScriptName, string>>;

const reads: ReadonlySet<string> = new Set([
  "leave",
  "known",
  "ids",
  "questions",
  "lost",
  "summary",
  "owner",
  "list",
  "beat",
  "publish",
  "record",
  "records",
]);
/** Replies of a server that is not ready, so that a later attempt may succeed. */
const transientReply = /^(LOADING|MISCONF|READONLY|MASTERDOWN|NOREPLICAS|TRYAGAIN|BUSY|UNBLOCKED)/;

/** Codes of writes that this node may not make any more. They do not count as failures. */
const expectedCodes: readonly string[] = ["not_owner", "forgotten"];

/** @returns The error of this project for a reply of the server; undefined if it may go away. */
function toError(message: string): Error | undefined {
  if (message.startsWith("OOM")) return conversationsErrors.undeliverable();
  if (message.includes("FORGOTTEN")) return conversationsErrors.forgotten();
  if (message.includes("NOTOWNER")) return conversationsErrors.not_owner();
  return message.includes("REPEATED") ? conversationsErrors.store_unavailable() : undefined;
}

const isOperation = (script: string): boolean => Object.hasOwn(arity, script);

/** Groups the operations that follow each other; every other call is a group of its own. */
function toGroups(calls: readonly WaitingCall[]): readonly (readonly WaitingCall[])[] {
  const groups: WaitingCall[][] = [];
  let batch: WaitingCall[] | undefined;
  let bytes = 0;
  for (const call of calls) {
    const isMember = isOperation(call.script);
    bytes += call.bytes ?? 0;
    if (isMember && batch && bytes <= maxBatchBytes) batch.push(call);
    else {
      groups.push([call]);
      batch = isMember ? groups.at(-1) : undefined;
      bytes = call.bytes ?? 0;
    }
  }
  return groups;
}

const isServerReply = (error: Error): boolean => error.name === "ReplyError";

/** The errors of ioredis contain the command, which contains messages of people. */
const withoutCommand = ({ message }: Error): Error =>
  new Error(message.replace(/,? ?with args.*/s, "").slice(0, 200));

type CallReply = readonly [call: WaitingCall, error: Error | null, reply: Reply | undefined];

/** The replies of all calls, in their order. */
function* repliesOf(
  groups: readonly (readonly WaitingCall[])[],
  replies: readonly [error: Error | null, reply: unknown][] | null,
): Generator<CallReply> {
  for (const [at, group] of groups.entries()) {
    const [error, reply] = replies?.[at] ?? [new Error("no reply"), undefined];
    const isBatch = isOperation(group[0]!.script);
    for (const [index, call] of group.entries()) {
      const own = (isBatch && !error ? (reply as readonly Reply[])[index] : reply) as Reply;
      yield own instanceof Error ? [call, own, undefined] : [call, error, own];
    }
  }
}

/** One pipeline is on its way; the next one gathers until its replies are here. */
export class CallQueue {
  private readonly options: CallQueueOptions;
  private queue: WaitingCall[] = [];
  private waiting = 0;
  private bytes = 0;
  private isScheduled = false;
  private isSending = false;

  constructor(options: CallQueueOptions) {
    this.options = options;
  }

  get waitingBytes(): number {
    return this.bytes;
  }

  /**
   * Calls a script.
   *
   * @throws store_busy if 10,000 calls or 16 MiB wait.
   * @throws store_unavailable if there is no reply in time.
   */
  run(call: ScriptCall): Promise<Reply> {
    const { bytes = 0 } = call;
    if (this.waiting >= maxWaiting || this.bytes + bytes > maxWaitingBytes)
      return Promise.reject(conversationsErrors.store_busy());
    const startedAt = this.options.now();
    return new Promise((resolve, reject) => {
      const deadline = startedAt + this.options.patienceMs;
      this.queue.push({ ...call, startedAt, deadline, resolve, reject });
      this.waiting += 1;
      this.bytes += bytes;
      this.schedule();
    });
  }

  /** Sends the waiting calls. */
  schedule(): void {
    if (this.isScheduled || this.isSending) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      void this.send();
    });
  }

  /** Rejects the calls that have waited too long. */
  expire(): void {
    const now = this.options.now();
    const isLate = ({ deadline }: WaitingCall): boolean => deadline <= now;
    const late = this.queue.filter(isLate);
    if (late.length === 0) return;
    this.queue = this.queue.filter((call) => !isLate(call));
    for (const call of late) this.reject(call, conversationsErrors.store_unavailable());
  }

  /** Resolves when nothing waits. */
  async flush(): Promise<void> {
    while (this.waiting > 0 && this.options.client())
      await new Promise((resolve) => setImmediate(resolve));
  }

  /** Rejects all waiting calls. */
  close(): void {
    for (const call of this.queue.splice(0))
      this.reject(call, conversationsErrors.store_unavailable());
  }

  private async send(): Promise<void> {
    const client = this.options.client();
    if (this.isSending || !client || this.queue.length === 0) return;
    this.isSending = true;
    const calls = this.queue.splice(0, maxPerTurn);
    try {
      await this.exchange(client, calls);
    } finally {
      this.isSending = false;
      if (this.queue.length > 0 && this.options.client()) this.schedule();
    }
  }

  private async exchange(client: RedisClient, calls: readonly WaitingCall[]): Promise<void> {
    const { replicas } = this.options;
    const pipeline = client.pipeline();
    const groups = toGroups(calls);
    for (const group of groups) this.add(pipeline, group);
    const confirms = replicas > 0 && calls.some(({ script }) => !reads.has(script));
    if (confirms) pipeline.callBuffer("WAIT", replicas, confirmMs);
    const replies = await pipeline.exec().catch(() => null);
    const confirmed = replies?.[groups.length]?.[1];
    const isConfirmed =
      !confirms || (confirmed as number) >= replicas || (await this.confirm(client, calls));
    const again: WaitingCall[] = [];
    let isUnknown = false;
    for (const [call, error, reply] of repliesOf(groups, replies)) {
      if (error && isServerReply(error) && error.message.startsWith("NOSCRIPT")) {
        isUnknown = true;
        again.push(call);
      } else if (error) this.failed(call, error, again);
      else if (!isConfirmed && !reads.has(call.script)) this.failed(call, undefined, again);
      else this.resolve(call, reply as Reply);
    }
    this.queue = [...again, ...this.queue];
    if (isUnknown) await loadScripts(client).catch(() => undefined);
  }

  private add(pipeline: RedisPipeline, group: readonly WaitingCall[]): void {
    const { script, keys, values } = group[0]!;
    if (script === "publish") pipeline.callBuffer("SPUBLISH", keys[0]!, ...values);
    else if (isOperation(script)) {
      const all: CallValue[] = [digests.batch, 2, ...this.options.head()];
      for (const call of group) {
        all.push(call.script);
        for (const value of call.values) all.push(value);
        if (call.here) all.push(call.here() ? 1 : 0);
      }
      pipeline.callBuffer("EVALSHA", ...all);
    } else
      pipeline.callBuffer(
        "EVALSHA",
        digests[script as ScriptName],
        keys.length,
        ...keys,
        ...values,
      );
  }

  /** Waits until enough replicas have the writes of a batch. */
  private async confirm(client: RedisClient, calls: readonly WaitingCall[]): Promise<boolean> {
    const { replicas, now } = this.options;
    const deadline = Math.max(...calls.map((call) => call.deadline));
    while (now() < deadline && client === this.options.client()) {
      const count = await client.call("WAIT", replicas, confirmMs).catch(() => undefined);
      if (count === undefined) return false;
      if ((count as number) >= replicas) return true;
    }
    return false;
  }

  private failed(call: WaitingCall, error: Error | undefined, again: WaitingCall[]): void {
    const isReply = error !== undefined && isServerReply(error);
    const known = isReply ? toError(error.message) : undefined;
    if (known) return this.reject(call, known);
    const mayRepeat = !isReply || transientReply.test(error.message);
    if (mayRepeat && call.repeats && call.deadline > this.options.now()) again.push(call);
    else if (mayRepeat)
      this.reject(
        call,
        conversationsErrors.store_unavailable(error && { cause: withoutCommand(error) }),
      );
    else this.reject(call, error && withoutCommand(error));
  }

  private resolve(call: WaitingCall, reply: Reply): void {
    this.settled(call);
    if (call.repeats) this.options.committed((this.options.now() - call.startedAt) / 1_000);
    call.resolve(reply);
  }

  private reject(call: WaitingCall, error: unknown): void {
    this.settled(call);
    if (!expectedCodes.includes(codeOf(error))) this.options.failed(error);
    call.reject(error);
  }

  private settled({ bytes = 0 }: WaitingCall): void {
    this.waiting -= 1;
    this.bytes -= bytes;
  }
}

/** Makes the scripts known to a server. */
export async function loadScripts(client: RedisClient): Promise<void> {
  const pipeline = client.pipeline();
  for (const text of Object.values(scripts)) pipeline.callBuffer("SCRIPT", "LOAD", text);
  const replies = await pipeline.exec();
  for (const [error] of replies ?? []) if (error) throw error;
}
