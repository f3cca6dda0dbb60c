/** Sends growing replies as updates of one message, no more of them than its channel takes. */
import { codeOf, type Clock, type Release } from "../../kernel/index.ts";
import { channelsErrors } from "./errors.ts";
import { checkAddress, checkLast, checkStream, maxText } from "./message-schema.ts";
import type {
  Address,
  EndOptions,
  ReplyStream,
  Channels,
  GrowingMessage,
  OutboundMessage,
  Receipt,
  StreamOptions,
} from "./contract.ts";
import type { Session, StreamWriter } from "./session.ts";
import type { Sessions } from "./sessions.ts";

/** Nine updates in any second leave room for the final update, which does not wait. Channels may
 *  name another time. */
export const updateIntervalMs = 112;
/** With these codes a later update may succeed, and the final update reports the failure. */
const transientCodes: readonly string[] = [
  "undeliverable",
  "rate_limited",
  "busy",
  "store_unavailable",
  "store_busy",
];

interface ReplyStreamOptions extends Pick<Channels, "send" | "update"> {
  /** Returns whether the channel can update a sent message. */
  readonly updates: (to: Address) => boolean;
  /** Returns whether a question of the session is open: `cancelWhenAlone` pauses. */
  readonly isAsking: (to: Address) => boolean;
  /** Returns the milliseconds between two updates of a message. */
  readonly updateMs: (channel: string) => number;
  /** Returns how long the channel lets clients of a session resume. */
  readonly resumeMs: (to: Address) => number;
  readonly clock: Clock;
  readonly after: (ms: number, run: () => void) => Release;
  /** As `after`; counts only the time in which the process runs. */
  readonly afterRunning: (ms: number, run: () => void) => Release;
  /** Hands out the end of a stream that answers no message. */
  readonly ended: (to: Address, end: () => Promise<Receipt>) => Promise<Receipt>;
  /** A call has failed that returns no promise. */
  readonly failed: (to: Address, call: string, error: unknown) => void;
}

/** Observes one stream. */
interface StreamObserver {
  /** The first text is about to be sent. */
  begins(): void;
  /** The application has ended the stream. */
  finished(end: EndOptions): void;
  /** The last text was sent, or failed. Called once, also after an abort. */
  settled(): void;
  /** Hands out the promise of the end. */
  ended(end: () => Promise<Receipt>): Promise<Receipt>;
  /** A call has failed that returns no promise. */
  failed(call: string, error: unknown): void;
}

const emptyReceipt: Receipt = { id: "", status: "undelivered", reason: "aborted" };

export class ReplyStreams {
  private readonly options: ReplyStreamOptions;
  private readonly sessions: Sessions;

  constructor(options: ReplyStreamOptions, sessions: Sessions) {
    this.options = options;
    this.sessions = sessions;
  }

  /** A stream with wrong options has failed from the beginning: see its `end`. */
  open(to: Address, streamOptions: StreamOptions = {}, observer?: StreamObserver): ReplyStream {
    let checked: StreamOptions = {};
    let problem: unknown;
    try {
      checkAddress("stream", to);
      checked = checkStream(streamOptions) as StreamOptions;
    } catch (error) {
      problem = error;
    }
    const { ended, failed } = this.options;
    const streams =
      problem === undefined ? (this.sessions.open(to).streams ??= new Set()) : new Set();
    const writer: ReplyWriter = new ReplyWriter(this.options, to, checked, {
      ended: (end) => ended(to, end),
      failed: (call, error) => failed(to, call, error),
      ...observer,
      closed: () => void streams.delete(writer),
    });
    streams.add(writer);
    if (problem !== undefined) writer.fail("stream", problem);
    return writer.stream;
  }

  /** Aborts streams with `cancelWhenAlone` unless a client returns in time. */
  sessionIdle(to: Address): void {
    for (const writer of this.of(to)) writer.left();
  }

  /** A client of the session is connected again. */
  sessionActive(to: Address): void {
    for (const writer of this.of(to)) writer.returned();
  }

  /** A question of the session was asked, or the last one was settled. */
  questionsChanged(to: Address): void {
    for (const writer of this.of(to)) writer.questionsChanged();
  }

  /** Aborts the streams of a session whose conversation is deleted. */
  endStreams({ streams = new Set() }: Session): void {
    for (const { stream } of [...streams]) stream.abort(channelsErrors.stopped());
  }

  /** Aborts all streams. Resolves when their text so far was sent, as far as possible. */
  async stop(): Promise<void> {
    const all = this.sessions.list().flatMap(({ streams }) => [...(streams ?? [])]);
    for (const { stream } of all) stream.abort(channelsErrors.not_running());
    await Promise.all(all.map((writer) => writer.settled()));
  }

  private of(to: Address): readonly StreamWriter[] {
    return [...(this.sessions.find(to)?.streams ?? [])];
  }
}

const aloneMsOf = (
  cancelWhenAlone: StreamOptions["cancelWhenAlone"],
  resumeMs: () => number,
): number | undefined => {
  if (typeof cancelWhenAlone === "object") return cancelWhenAlone.afterMs;
  return cancelWhenAlone === true ? resumeMs() : undefined;
};

type LastOptions = NonNullable<Parameters<ReplyStream["end"]>[0]>;

const isUndelivered = ({ status }: Receipt): boolean =>
  status === "buffered" || status === "undelivered";

interface WriterOwner
  extends
    Partial<Omit<StreamObserver, "ended" | "failed">>,
    Pick<StreamObserver, "ended" | "failed"> {
  closed(): void;
}

/** Characters that may wait to be shown before `write` asks the application to pause. */
const pauseAbove = 65_536;

/** State of one growing reply. */
class ReplyWriter implements StreamWriter {
  readonly stream: ReplyStream;
  readonly to: Address;
  /** Milliseconds without a client after which the stream aborts; undefined for never. */
  private readonly aloneMs: number | undefined;
  private readonly options: ReplyStreamOptions;
  private readonly owner: WriterOwner;
  private readonly controller = new AbortController();
  private readonly first: Partial<OutboundMessage>;
  /** Repeated in every update, because clients tell thoughts from replies by these fields. */
  private readonly common: Pick<OutboundMessage, "kind" | "inReplyTo">;
  private text = "";
  private shown = "";
  /** True if the channel may have another text than `shown`, because a call failed. */
  private isUnsure = false;
  private receipt: Receipt | undefined;
  private shownAt = -Infinity;
  private cancelTimer: Release | undefined;
  private cancelAloneTimer: Release | undefined;
  /** True if no client of the session is connected. */
  private isAlone = false;
  /** The current call to the channel; never rejects. */
  private pending: Promise<void> | undefined;
  private failure: unknown;
  /** Calls of `drained` that wait. */
  private waiting: (() => void)[] | undefined;
  private ended = false;
  private finishing: Promise<Receipt> | undefined;

  constructor(
    options: ReplyStreamOptions,
    to: Address,
    { cancelWhenAlone = false, ...first }: StreamOptions,
    owner: WriterOwner,
  ) {
    this.options = options;
    this.to = to;
    this.aloneMs = aloneMsOf(cancelWhenAlone, () => options.resumeMs(to));
    this.first = first;
    this.owner = owner;
    const { kind, inReplyTo } = first;
    this.common = {
      ...(kind !== undefined && { kind }),
      ...(inReplyTo !== undefined && { inReplyTo }),
    };
    this.stream = {
      signal: this.controller.signal,
      abort: (reason) => this.abort(reason),
      write: (more) => this.write(more),
      replace: (text) => this.replace(text),
      drained: () => this.drained(),
      end: (last) => owner.ended(() => this.end(last)),
    };
  }

  /** No client is connected: aborts after the time that `cancelWhenAlone` allows. */
  left(): void {
    const { aloneMs, options } = this;
    if (aloneMs === undefined || this.cancelAloneTimer || this.ended) return;
    this.isAlone = true;
    if (options.isAsking(this.to)) return;
    const abort = (): void => this.abort(channelsErrors.no_client());
    if (aloneMs === 0) abort();
    else this.cancelAloneTimer = options.afterRunning(aloneMs, abort);
  }

  returned(): void {
    this.isAlone = false;
    this.cancelAloneTimer?.();
    this.cancelAloneTimer = undefined;
  }

  /** The time alone begins again after a question. */
  questionsChanged(): void {
    if (!this.isAlone) return;
    this.returned();
    this.left();
  }

  /** Resolves when the final update was sent or failed. */
  settled(): Promise<unknown> {
    return Promise.resolve(this.finishing).catch(() => undefined);
  }

  private write(more: string): boolean {
    if (this.controller.signal.aborted) return true;
    if (this.ended) throw channelsErrors.stream_ended();
    if (!this.check("write", more, this.text.length)) return true;
    this.text += more;
    this.schedule();
    return !this.isBehind();
  }

  private replace(text: string): void {
    if (this.controller.signal.aborted) return;
    if (this.ended) throw channelsErrors.stream_ended();
    if (!this.check("replace", text, 0)) return;
    this.text = text;
    this.schedule();
  }

  /**
   * Often called by a listener, where an error would end the process: so a wrong value fails the
   * stream. A schema for each token costs more than the message.
   */
  private check(call: string, text: unknown, before: number): boolean {
    const isText = typeof text === "string";
    if (isText && before + text.length <= maxText) return true;
    const problem = `expected a text, and it is ${text === null ? "null" : typeof text}`;
    const { reply_invalid: invalid, too_large: tooLarge } = channelsErrors;
    this.fail(call, isText ? tooLarge() : invalid(call, problem));
    return false;
  }

  /** Ends the stream with the text so far, and reports the error. */
  fail(call: string, error: unknown): void {
    this.abort((this.failure = error));
    this.owner.failed(call, error);
  }

  private drained(): Promise<void> {
    if (!this.isBehind()) return Promise.resolve();
    return new Promise((resolve) => void (this.waiting ??= []).push(resolve));
  }

  /** A channel that cannot update messages shows nothing before the end, so it is never behind. */
  private isBehind(): boolean {
    if (this.ended || this.text.length - this.shown.length <= pauseAbove) return false;
    return this.options.updates(this.to);
  }

  private resumeWriters(): void {
    const { waiting } = this;
    if (!waiting || this.isBehind()) return;
    this.waiting = undefined;
    for (const resolve of waiting) resolve();
  }

  private async end(given?: LastOptions): Promise<Receipt> {
    const { usage, finishReason, suggestions, ...message } = this.checkLast(given);
    if (this.close()) {
      const { model } = message;
      this.owner.finished?.({
        ...(usage && { usage }),
        ...(finishReason && { finishReason }),
        ...(suggestions && { suggestions }),
        ...(model !== undefined && { model }),
      });
      this.finishing = this.finish(message);
      void this.settled().then(() => this.owner.settled?.());
    }
    const receipt = await this.finishing!;
    if (this.failure !== undefined) throw this.failure;
    return receipt;
  }

  private checkLast(last: LastOptions | undefined): Partial<OutboundMessage> {
    try {
      return checkLast(last);
    } catch (error) {
      if (!this.ended) this.abort((this.failure = error));
      return {};
    }
  }

  private abort(reason?: unknown): void {
    if (!this.close()) return;
    this.finishing = this.finishAborted().catch(() => this.receipt ?? emptyReceipt);
    void this.settled().then(() => this.owner.settled?.());
    this.controller.abort(reason);
  }

  /** @returns `false` if the stream was closed before. */
  private close(): boolean {
    if (this.ended) return false;
    this.ended = true;
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    this.returned();
    this.resumeWriters();
    this.owner.closed();
    return true;
  }

  /** True if the channel needs only what the text adds. */
  private isGrown(content: string): boolean {
    return this.receipt !== undefined && !this.isUnsure && content.startsWith(this.shown);
  }

  private withText(content: string): GrowingMessage {
    const added = this.isGrown(content) ? content.slice(this.shown.length) : undefined;
    return { ...this.common, content, ...(added !== undefined && { added }) };
  }

  private async show(): Promise<void> {
    const { options, to } = this;
    const content = this.text;
    this.shownAt = options.clock.now();
    try {
      this.receipt = this.receipt
        ? await options.update(to, this.receipt.id, this.withText(content))
        : await this.sendFirst({ ...this.first, content, final: false });
      this.shown = content;
      this.isUnsure = false;
      if (isUndelivered(this.receipt)) this.left();
    } catch (error) {
      this.isUnsure = true;
      const code = codeOf(error);
      if (!transientCodes.includes(code)) this.abort((this.failure = error));
      else if (code === "undeliverable") this.left();
    }
  }

  /** Sends new text when the interval has passed and no other call to the channel is pending. */
  private schedule(): void {
    if (this.pending || this.cancelTimer || this.ended) return;
    const { clock, after, updates, updateMs } = this.options;
    if (this.text === this.shown || !updates(this.to)) return;
    const intervalMs = this.isGrown(this.text) ? updateMs(this.to.channel) : updateIntervalMs;
    const wait = Math.min(intervalMs, this.shownAt + intervalMs - clock.now());
    if (wait > 0) {
      this.cancelTimer = after(wait, () => {
        this.cancelTimer = undefined;
        this.schedule();
      });
      return;
    }
    let resolvePending = (): void => undefined;
    // Set before the call to the channel, because the channel may abort the stream in that call.
    this.pending = new Promise((resolve) => void (resolvePending = resolve));
    void this.show().finally(() => {
      this.pending = undefined;
      resolvePending();
      this.schedule();
      this.resumeWriters();
    });
  }

  /** Sends the final update of an aborted stream: clients wait for the end of a begun reply. */
  private async finishAborted(): Promise<Receipt> {
    await this.pending;
    const { options, to, receipt } = this;
    const content = this.failure === undefined ? this.text : this.shown;
    if (!receipt) return emptyReceipt;
    const isCut = codeOf(this.controller.signal.reason) === "not_running";
    return options.update(to, receipt.id, {
      ...this.withText(content),
      final: true,
      ...(isCut && { cut: "not_running" as const }),
    });
  }

  private async finish(last: Partial<OutboundMessage>): Promise<Receipt> {
    await this.pending;
    if (this.failure !== undefined) throw this.failure;
    const { options, to, receipt, text } = this;
    return receipt
      ? options.update(to, receipt.id, { ...last, ...this.withText(text), final: true })
      : this.sendFirst({ ...this.first, ...last, content: text });
  }

  private sendFirst(message: OutboundMessage & { readonly final?: boolean }): Promise<Receipt> {
    this.owner.begins?.();
    return this.options.send(this.to, message);
  }
}
