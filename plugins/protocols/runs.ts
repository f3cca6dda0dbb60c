// Delivers messages to the application, and keeps their answers while clients follow them.
import { hash } from "node:crypto";
import { codeOf, type Clock, type Log, type Release } from "../../kernel/index.ts";
import { BoundedMap, keyOf } from "../../lib/util.ts";
import type {
  AnswerEnd,
  Channels,
  InboundMessage,
  Sender,
  Stopper,
  StopResult,
} from "../channels/index.ts";
import type { PicoProtocol } from "../pico-server/index.ts";
import { AnswerRun, type RunOptions } from "./answer-run.ts";
import type { ClientCalls } from "./client-calls.ts";
import { markOf, openEnd, type RunEnd, type RunMark } from "./follower.ts";
import { toOutbound } from "./stored.ts";
import { refuse } from "./errors.ts";
import { isAnswerId } from "./questions.ts";
import { offeredNames } from "./tools.ts";

/** Answers that a repeated request may still read. */
const maxKept = 128;
const keepMs = 600_000;
/** Answers in progress, beyond the requests in progress: those whose clients have left. */
const minActive = 256;

interface RunsOptions {
  readonly channel: PicoProtocol;
  readonly channels: Pick<Channels, "history" | "deliverAnswers">;
  readonly clock: Clock;
  /** Counts only the time in which the process runs. */
  readonly after: (ms: number, run: () => void) => Release;
  readonly log: Log;
  /** Names the tool calls that leave. */
  readonly calls: Pick<ClientCalls, "name" | "issue">;
  readonly answerMs: () => number;
  readonly maxRequests: () => number;
}

/** A message for the application. */
export interface RunRequest extends Pick<
  InboundMessage,
  | "session"
  | "id"
  | "content"
  | "media"
  | "previous"
  | "tools"
  | "toolChoice"
  | "output"
  | "toolResults"
  | "continues"
  | "metadata"
  | "hops"
> {
  readonly sender: Sender;
  /** A request with the same id and content receives the same answer. */
  readonly isRepeatable: boolean;
  /** The answer is forgotten before others if too many are kept. */
  readonly isExpendable: boolean;
  /** The part of the ids of tool calls that leads to the session. */
  readonly place?: string | undefined;
  /** Called once the application has accepted or rejected the message. */
  readonly settled: () => void;
}

/** An answer that clients may still read. */
export class KeptRun extends AnswerRun {
  readonly session: string;
  readonly isExpendable: boolean;
  /** Of the message. */
  readonly digest: string;
  /** Resolves when the application has accepted the message. Never rejects: the run fails. */
  delivered: Promise<void> = Promise.resolve();
  /** Clients that follow it. */
  readers = 0;
  /** Monotonic milliseconds. */
  endedAt: number | undefined;
  /** A client has received the end, as far as the server can know. */
  isSeen = false;
  /** A client of the protocol has asked to stop it. */
  isStopped = false;
  /** No request of this protocol has begun it: it goes on when its readers leave. */
  isJoined = false;
  /** The part of a joined answer that was written before. */
  before: RunMark | undefined;

  constructor(
    { session, id, isExpendable }: Pick<RunRequest, "session" | "id" | "isExpendable">,
    digest: string,
    onOver: (end: RunEnd) => void,
    options: RunOptions,
  ) {
    super(id, onOver, options);
    this.session = session;
    this.isExpendable = isExpendable;
    this.digest = digest;
  }

  /** Follows the answers to more messages, after its own. */
  follow(requests: readonly string[]): void {
    for (const request of requests) this.requests.add(request);
  }

  /** No application can take the message now: the response does not wait for it. */
  waitsFor(request: string): void {
    if (this.end || !this.requests.has(request)) return;
    const message = { content: waitsText, inReplyTo: request };
    this.written(`waits:${request}`, message, true);
    this.ended(request, openEnd);
  }

  /** No answer to this message comes. */
  skip(request: string): void {
    this.ended(request, openEnd);
  }

  /** Ends without the answers that are missing. */
  giveUp(): void {
    for (const request of this.requests) this.ended(request, openEnd);
  }

  override ended(request: string, end: AnswerEnd): void {
    const isRefused = this.isJoined && retryable.includes(end.code ?? "");
    if (isRefused && isAnswerId(request)) this.waitsFor(request);
    else super.ended(request, end);
  }

  /** Adds a message of an earlier time, unless this has a later state of it. */
  restore(...[id, message, isFinal]: Parameters<AnswerRun["written"]>): void {
    if (!this.messages.some((known) => known.id === id)) this.written(id, message, isFinal);
  }
}

const waitsText = "The answer is stored. It waits for the program.";

/** Sessions whose tools are remembered. */
const maxOffers = 1_000;
/** Turns in which the beginning of a joined answer is looked up. */
const maxTurns = 200;

const digestOf = ({ content, media, toolResults }: RunRequest): string => {
  const images = media.map(({ bytes, url, sha256 = url }) =>
    bytes === undefined ? sha256 : hash("sha256", bytes, "base64url"),
  );
  return hash("sha256", JSON.stringify([content, images, toolResults]), "base64url");
};

/** How long an answer continues without a client that will repeat its request. */
const repeatMs = 10_000;

/** Errors after which the same request may succeed. */
const retryable = ["not_running", "no_application", "store_unavailable", "store_busy"];

export class Runs {
  private readonly options: RunsOptions;
  /** Answers in progress. */
  private readonly active = new Set<KeptRun>();
  /** Answers with a key of the client, oldest first, also after their end. */
  private readonly kept = new Map<string, KeptRun>();
  /** Session -> key of its latest answer in `kept`. */
  private readonly latestKeys = new Map<string, string>();
  private readonly removals = new Map<string, Release>();
  /** Session -> the tools of its latest request that had some. */
  private readonly offers = new BoundedMap<
    string,
    { readonly offered: ReadonlySet<string>; readonly place: string | undefined }
  >(maxOffers);

  constructor(options: RunsOptions) {
    this.options = options;
  }

  /**
   * Delivers the message, or joins the answer to the same one.
   *
   * @throws Refusal if another message used the id, or too many answers are in progress.
   */
  start(request: RunRequest): KeptRun {
    const key = keyOf(request.session, request.id);
    const digest = digestOf(request);
    const known = this.kept.get(key);
    if (known) {
      request.settled();
      if (known.digest !== digest)
        throw refuse("id_reused", "Another message already used this id or Idempotency-Key.");
      return known;
    }
    if (this.active.size >= Math.max(minActive, this.options.maxRequests())) {
      const headers = { "Retry-After": "5" };
      request.settled();
      throw refuse("rate_limited", "Too many replies are in progress.", { headers });
    }
    return this.open(request, key, digest);
  }

  /** Returns the answer to a message, if it is kept. */
  find(session: string, id: string): KeptRun | undefined {
    return this.kept.get(keyOf(session, id));
  }

  /** Returns the answer that has asked one of these questions, if it is kept. */
  asking(session: string, ids: readonly string[]): KeptRun | undefined {
    return [...this.kept.values()].find(
      (run) => run.session === session && ids.some((id) => run.question(id)),
    );
  }

  /** Returns the answer to the latest message of a session, if it is kept. */
  latest(session: string): KeptRun | undefined {
    return this.kept.get(this.latestKeys.get(session) ?? "");
  }

  /**
   * Stops answers of a session. Clients receive the text so far.
   *
   * @param by - The client who stops them.
   * @param matches - Selects among the kept answers. Without it, every message of the session is
   *   stopped, also those of other protocols.
   */
  async stop(
    session: string,
    by: Stopper,
    matches?: (run: KeptRun) => boolean,
  ): Promise<readonly StopResult[]> {
    const { channel } = this.options;
    const ids = matches
      ? [...this.kept.values()]
          .filter((run) => run.session === session && matches(run))
          .map(({ requestId }) => requestId)
      : [undefined];
    // The latest first: when a message ends, the next one of the session follows.
    const stops = ids.toReversed().map(async (id) => channel.stop(session, id, by));
    const results = (await Promise.all(stops)).toReversed().flat();
    for (const { id } of results) {
      const run = this.find(session, id);
      if (run) run.isStopped = true;
    }
    return results;
  }

  /**
   * A client has left. The last one stops the answer if `stops` is true, or in ten seconds if it is
   * `later` and no client has joined until then.
   */
  leave(run: KeptRun, client: Sender, stops: boolean | "later"): void {
    const { channel, after } = this.options;
    const stop = (): void => {
      if (run.readers > 0 || run.end) return;
      if (run.isJoined) return run.fail(refuse("not_running", "No client follows the answer."));
      run.isStopped = true;
      void channel.stop(run.session, run.requestId, client);
    };
    run.readers -= 1;
    if (run.isJoined) stop();
    else if (stops === "later") after(repeatMs, stop);
    else if (stops) stop();
  }

  /**
   * Follows answers that no request of this protocol has begun, with what they have said so far.
   *
   * @param ids - Of the messages, in the order of their answers.
   */
  async join(
    session: string,
    [first, ...others]: readonly [string, ...string[]],
  ): Promise<KeptRun> {
    const { channel, channels, after, answerMs, clock, calls } = this.options;
    const { offered = new Set<string>(), place } = this.offers.get(session) ?? {};
    const releases: Release[] = [];
    const onOver = (): void => {
      for (const release of releases) release();
      this.active.delete(run);
    };
    const run = new KeptRun({ session, id: first, isExpendable: true }, "", onOver, {
      clock,
      calls: {
        offered,
        name: (messageId, call) => calls.name({ session, messageId, place }, call),
        issue: (messageId, call) => calls.issue({ session, messageId, place }, call),
      },
    });
    run.follow(others);
    run.isJoined = true;
    releases.push(channel.subscribe(session, run));
    this.active.add(run);
    const { items } = await channels.history({ channel: "pico", session }, { limit: maxTurns });
    const ids = [first, ...others];
    for (const turn of items)
      if (turn.role === "assistant" && ids.includes(turn.inReplyTo ?? ""))
        run.restore(turn.id, toOutbound(turn), turn.complete !== false);
    const isBefore = (id: string): boolean =>
      items.some((turn) => turn.id === id && !isAnswerId(turn.inReplyTo ?? ""));
    run.before = markOf(run.messages.filter(({ id }) => isBefore(id)));
    run.accepted();
    const running = (await channel.running(session))?.map(({ id }) => id);
    for (const id of ids) {
      const turn = items.find((each) => each.requestId === id && each.role === "user");
      // Without an outcome and without a node that works on it, it ended with its process.
      const isGone = running?.includes(id) === false;
      const isUnanswered = items.every(({ inReplyTo }) => inReplyTo !== id);
      const isRefused = ["failed", "lost"].includes(turn?.outcome ?? "failed");
      // An answer that no application could accept is delivered again.
      if (turn && isGone && isAnswerId(id) && isUnanswered && isRefused) run.waitsFor(id);
      else if (turn?.outcome !== undefined || (isGone && (turn || !isAnswerId(id))))
        run.ended(id, openEnd);
    }
    if (!run.end) releases.push(after(answerMs(), () => run.giveUp()));
    return run;
  }

  /** No application could accept the answer to a durable question yet. */
  waits(session: string, id: string): void {
    for (const run of this.active) if (run.session === session) run.waitsFor(id);
  }

  /** Ends all answers for their clients. The application is not stopped. */
  failAll(error: () => unknown): void {
    for (const run of this.active) run.fail(error());
  }

  /** Ends the answers of a session whose conversation is deleted, and keeps none of them. */
  clear(session: string): void {
    this.offers.delete(session);
    const end = { outcome: "stopped", finishReason: "stopped", messages: 0 } as const;
    for (const run of this.active) if (run.session === session) run.ended(run.requestId, end);
    for (const [key, run] of this.kept) if (run.session === session) this.forget(key);
  }

  close(): void {
    for (const key of this.kept.keys()) this.forget(key);
  }

  private open(request: RunRequest, key: string, digest: string): KeptRun {
    const { channel, clock, after, answerMs, calls } = this.options;
    const { session, id, sender, isRepeatable, place } = request;
    let cancelTimeout: Release | undefined;
    let unsubscribe: Release | undefined;
    const onOver = ({ error, asks }: RunEnd): void => {
      cancelTimeout?.();
      unsubscribe?.();
      this.active.delete(run);
      run.endedAt = clock.monotonic();
      if (asks && !this.kept.has(key)) this.keep(key, run);
      if (this.kept.has(key)) this.expire(key, retryable.includes(codeOf(error)) ? 0 : keepMs);
    };
    // The time that people need for questions does not count.
    const onAsking = (isAsking: boolean): void => {
      cancelTimeout?.();
      if (!isAsking && !run.end) cancelTimeout = after(answerMs(), onTimeout);
      if (isAsking && !this.kept.has(key)) this.keep(key, run);
    };
    const offered = offeredNames(request);
    if (offered.size > 0) this.offers.set(session, { offered, place });
    const run = new KeptRun(request, digest, onOver, {
      calls: {
        offered,
        name: (messageId, call) => calls.name({ session, messageId, place }, call),
        issue: (messageId, call) => calls.issue({ session, messageId, place }, call),
      },
      clock,
      onAsking,
    });
    unsubscribe = channel.subscribe(session, run);
    this.active.add(run);
    if (isRepeatable) this.keep(key, run);
    const seconds = answerMs() / 1_000;
    const onTimeout = (): void => {
      const message = `The reply did not end within ${seconds} s.`;
      run.fail(refuse("no_answer", message, { headers: { "x-should-retry": "false" } }));
      void channel.stop(session, id, sender);
    };
    cancelTimeout = after(answerMs(), onTimeout);
    run.delivered = this.deliver(request, run);
    return run;
  }

  private async deliver(request: RunRequest, run: KeptRun): Promise<void> {
    const { channel, clock, log } = this.options;
    const { isRepeatable: _, isExpendable: __, place: ___, settled, ...message } = request;
    try {
      const status = await channel.deliver({ ...message, at: clock.now() }, { dedupe: true });
      if (status === "accepted") return run.accepted();
      const text = "The application has this message already, but its reply is no longer kept.";
      run.fail(refuse("id_reused", text, { headers: { "x-should-retry": "false" } }));
    } catch (error) {
      if (codeOf(error) === "internal") log.error({ err: error }, "message could not be processed");
      run.rejected(error);
    } finally {
      settled();
    }
  }

  private keep(key: string, run: KeptRun): void {
    this.kept.set(key, run);
    this.latestKeys.set(run.session, key);
    if (this.kept.size <= maxKept) return;
    const ended = [...this.kept].filter(([, { end }]) => end);
    const [oldest] = ended.find(([, { isExpendable }]) => isExpendable) ?? ended[0] ?? [];
    if (oldest !== undefined) this.forget(oldest);
  }

  private expire(key: string, ms: number): void {
    if (ms === 0) return this.forget(key);
    this.removals.set(
      key,
      this.options.after(ms, () => this.forget(key)),
    );
  }

  private forget(key: string): void {
    this.removals.get(key)?.();
    this.removals.delete(key);
    const session = this.kept.get(key)?.session;
    if (session !== undefined && this.latestKeys.get(session) === key)
      this.latestKeys.delete(session);
    this.kept.delete(key);
  }
}
