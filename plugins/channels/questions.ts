/**
 * Questions of the application: asked once, answered from any device, settled exactly once.
 *
 * `open` → `settling` → `settled`. A question is `settling` while its settlement is being stored,
 * and open again if that fails. The application receives nothing before it is stored.
 */
import { codeOf, type Clock, type Log, type Release } from "../../kernel/index.ts";
import { createGate, BoundedMap } from "../../lib/util.ts";
import type { StoredQuestion } from "../conversations/contract.ts";
import { channelsErrors } from "./errors.ts";
import { checkAnswer, effectOf } from "./question-answer.ts";
import { QuestionCounter } from "./question-counts.ts";
import { parseQuestion } from "./question-schema.ts";
import { toSentence } from "./question-text.ts";
import type {
  Address,
  AnswerResult,
  DurableQuestionInput,
  OpenQuestion,
  OutboundMessage,
  Question,
  QuestionAnswer,
  QuestionInput,
  QuestionOutcome,
  QuestionResult,
  QuestionSettlement,
  QuestionVia,
  Receipt,
  Sender,
} from "./contract.ts";
import type { ChannelsEvents } from "./events.ts";
import type { Asker, QuestionEntry, Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";

/** Open questions of one session, and of the process. */
const maxPerSession = 16;
const maxOpen = 256;
/** Settled questions of one session that a late answer still finds here. */
const maxSettled = 1_024;
/** Pause before a settlement that could not be stored is tried again. */
const retryMs = 1_000;

/** Longest pause until the clocks are compared again, for a question of an earlier process. */
const recheckMs = 60_000;
const pastText = "The time for an answer is over.";

const lostTexts = {
  restart: "Doorward restarted before this was answered. Ask again.",
  application: "The application ended before this was answered. Ask again.",
};

export interface QuestionsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly after: (ms: number, run: () => void) => Release;
  /** As `after`; counts only the time in which the process runs. */
  readonly afterRunning: (ms: number, run: () => void) => Release;
  readonly newId: (channel: string) => string;
  readonly isRunning: () => boolean;
  /** The clock of the store, if it has one: no single reading of the system clock moves it far. */
  readonly steadyTime: () => number | undefined;
  /** True if the channel can update messages; undefined if it is not attached. */
  readonly canUpdate: (channel: string) => boolean | undefined;
  readonly send: (to: Address, id: string, message: Outgoing) => Promise<Receipt>;
  readonly update: (to: Address, id: string, message: Outgoing) => Promise<Receipt>;
  readonly asked: (event: ChannelsEvents["channels:question-asked"]) => void;
  readonly settled: (event: ChannelsEvents["channels:question-settled"]) => void;
  /** A durable question was settled by a person or its time: its answer must be delivered. */
  readonly answered: (question: OpenQuestion) => void;
  /** Finds the settlement of a question in the history of its session. */
  readonly findSettled: (to: Address, id: string) => Promise<QuestionSettlement | undefined>;
  /** The last question of a session was settled. */
  readonly cleared: (address: Address) => void;
}

type Outgoing = OutboundMessage & { readonly final?: boolean };

/** Outcomes of a durable question that its application must learn. */
const isDelivered = ({ outcome }: QuestionSettlement): boolean =>
  outcome === "answered" || outcome === "dismissed" || outcome === "expired";

/** True for a question that was restored. Valid until the application receives the settlement. */
const isOfEarlierProcess = ({ asker, tell }: QuestionEntry): boolean =>
  asker === undefined && tell === undefined;

export class Questions {
  readonly counter = new QuestionCounter();
  private readonly options: QuestionsOptions;
  private readonly sessions: Sessions;
  /** The open questions of all sessions, oldest first. */
  private readonly open = new Set<QuestionEntry>();
  /** Answered questions whose application has not been told. */
  private readonly untold = new Set<QuestionEntry>();
  private isStopped = false;

  constructor(options: QuestionsOptions, sessions: Sessions) {
    this.options = options;
    this.sessions = sessions;
  }

  /** Asks a question: see `Message.ask`. */
  async ask(
    to: Address,
    input: QuestionInput | DurableQuestionInput,
    asker?: Asker,
  ): Promise<QuestionResult | { readonly id: string }> {
    const { clock, newId } = this.options;
    const parsed = parseQuestion(input, clock.now());
    this.assertPossible(to);
    const { content, question } = parsed;
    const id = newId(to.channel);
    const { channel, session } = to;
    const isDurable = question.durable !== undefined;
    const entry = this.add({
      channel,
      session,
      id,
      content,
      ...(asker && { inReplyTo: asker.request }),
      at: clock.now(),
      question,
      asker: isDurable ? undefined : asker,
    });
    const result = new Promise<QuestionResult>((resolve) => void (entry.tell = resolve));
    const unwatch = this.watch(entry, input.signal);
    asker?.asks();
    await this.send(entry).catch((error: unknown) => {
      unwatch();
      throw error;
    });
    const settled = result.finally(unwatch);
    return isDurable ? { id } : settled;
  }

  /** Answers a question: see `Channels.answer`. */
  async answer(
    to: Address,
    id: string,
    answer: QuestionAnswer,
    by: Sender | undefined,
    via: QuestionVia,
  ): Promise<AnswerResult> {
    const entry = this.entryOf(to, id);
    if (!entry) return this.answerLate(to, id);
    while (entry.busy) await entry.busy;
    if (entry.settled) return { status: "already", settled: entry.settled };
    // It was never shown, or the store refuses its settlement at the moment.
    if (!this.open.has(entry)) return { status: "unknown" };
    if (entry.closing) throw channelsErrors.undeliverable(to.channel);
    if (this.isPast(entry)) return { status: "invalid", problem: pastText };
    const checked = checkAnswer(entry.question, answer);
    if (typeof checked === "string") return { status: "invalid", problem: checked };
    const at = this.options.clock.now();
    const settlement = { ...checked, ...(by && { by }), via, at };
    const settled = await this.settle(entry, settlement).catch((error: unknown) => {
      this.options.after(retryMs, () => void this.confirm(entry));
      throw error;
    });
    return { status: settled === settlement ? "settled" : "already", settled };
  }

  /** Lists the open questions, oldest first. */
  list({ channel, session }: Partial<Address> = {}): readonly OpenQuestion[] {
    const matching = [...this.open].filter(
      (entry) =>
        !entry.settled &&
        !entry.closing &&
        (channel ?? entry.channel) === entry.channel &&
        (session ?? entry.session) === entry.session,
    );
    return matching.map(({ id, content, inReplyTo, at, question, ...entry }) => ({
      channel: entry.channel,
      session: entry.session,
      id,
      content,
      ...(inReplyTo !== undefined && { inReplyTo }),
      at,
      question,
    }));
  }

  /** Takes over the time of the store: other nodes and a later process show that one. */
  noteTime(id: string, at: number): void {
    for (const entry of this.open) if (entry.id === id) entry.at = at;
  }

  /** @returns The session of a question that is open, or was settled recently. */
  find(id: string): Address | undefined {
    const found = this.sessions
      .list()
      .find(({ questions, settled }) => questions?.has(id) === true || settled?.has(id) === true);
    return found && { channel: found.channel, session: found.session };
  }

  /** True while a question of the session is open. Durable ones block nothing. */
  isOpen(address: Address): boolean {
    return this.sessions.find(address)?.isAsking() === true;
  }

  /**
   * Settles the questions of a run that ends.
   *
   * @returns A promise that never rejects: each settlement was tried once. The application learns
   *   it when it is stored, which may be later. Undefined if the run has none.
   */
  closeRun(
    to: Address,
    asker: Asker,
    outcome: "stopped" | "withdrawn" | "lost",
    by?: Sender,
  ): Promise<unknown> | undefined {
    for (const entry of this.untold) if (entry.asker === asker) this.tell(entry);
    const own = this.of(to).filter((entry) => entry.asker === asker);
    if (own.length === 0) return undefined;
    return Promise.all(own.map((entry) => this.close(entry, outcome, by)));
  }

  /** Settles a question whose message is removed. @returns Undefined if there is none. */
  withdraw(to: Address, id: string): Promise<void> | undefined {
    const entry = this.entryOf(to, id);
    return entry && this.close(entry, "withdrawn");
  }

  /** The conversation is deleted, or another node has the session: nothing more is stored here. */
  forget(session: Session, outcome: "withdrawn" | "lost"): void {
    for (const entry of this.of(session)) {
      const at = this.options.clock.now();
      entry.settled = { outcome, via: "host", at };
      this.remove(entry);
      this.announce(entry, entry.settled);
      this.tell(entry);
    }
    // An answer that is delivered for a deleted conversation would begin it again.
    for (const entry of this.untold)
      if (entry.owner === session && entry.question.durable !== undefined)
        this.untold.delete(entry);
  }

  /**
   * Continues with the questions of an earlier process: durable ones stay open, others are lost.
   *
   * @returns A promise that never rejects.
   */
  async restore(stored: readonly StoredQuestion[]): Promise<void> {
    const closing: Promise<void>[] = [];
    for (const each of stored) {
      const { question } = each;
      if (question.state === "settled") {
        this.options.answered(each);
        continue;
      }
      const known = this.sessions.find(each);
      // It was asked here, and perhaps settled since the store was read.
      if (known?.questions?.has(each.id) || known?.settled?.has(each.id)) continue;
      const entry = this.add({ ...each, asker: undefined });
      if (question.durable === undefined) closing.push(this.close(entry, "lost"));
      else this.startExpiry(entry);
    }
    await Promise.all(closing);
  }

  /** Settles all questions but durable ones, because the application ends. */
  async stop(): Promise<void> {
    this.isStopped = true;
    const open = [...this.open];
    for (const { cancelExpiry } of open) cancelExpiry?.();
    const ending = open.filter(({ question }) => question.durable === undefined);
    await Promise.all(ending.map((entry) => this.close(entry, "lost")));
    for (const entry of this.untold) this.tell(entry);
  }

  private of(address: Address): QuestionEntry[] {
    return [...(this.sessions.find(address)?.questions?.values() ?? [])];
  }

  private entryOf(address: Address, id: string): QuestionEntry | undefined {
    return this.sessions.find(address)?.questions?.get(id);
  }

  private assertPossible(to: Address): void {
    const { isRunning, canUpdate } = this.options;
    if (!isRunning() || this.isStopped) throw channelsErrors.not_running();
    const can = canUpdate(to.channel);
    if (can === undefined) throw channelsErrors.undeliverable(to.channel);
    if (!can) throw channelsErrors.unsupported(to.channel, "settle");
    if (this.open.size >= maxOpen) throw channelsErrors.too_many_questions(maxOpen, "this process");
    if (this.of(to).length >= maxPerSession)
      throw channelsErrors.too_many_questions(maxPerSession, "this session");
  }

  /** A client may answer before `send` returns, so the question exists before that. */
  private add(open: OpenQuestion & Pick<QuestionEntry, "asker">): QuestionEntry {
    const owner = this.sessions.open(open);
    const entry: QuestionEntry = {
      ...open,
      owner,
      startedAt: this.options.clock.monotonic(),
      busy: undefined,
      closing: undefined,
      settled: undefined,
      isUnsure: false,
      tell: undefined,
      cancelExpiry: undefined,
    };
    (owner.questions ??= new Map()).set(entry.id, entry);
    this.open.add(entry);
    this.counter.open = this.open.size;
    return entry;
  }

  private remove(entry: QuestionEntry): void {
    entry.cancelExpiry?.();
    entry.owner.questions?.delete(entry.id);
    this.open.delete(entry);
    this.counter.open = this.open.size;
    if (!this.isOpen(entry)) this.options.cleared(entry);
  }

  private async send(entry: QuestionEntry): Promise<void> {
    const { channel, session, id, content, inReplyTo, question } = entry;
    const gate = createGate();
    entry.busy = gate.opened;
    try {
      await this.options.send({ channel, session }, id, {
        content,
        question,
        final: false,
        ...(inReplyTo !== undefined && { inReplyTo }),
      });
    } catch (error) {
      if (entry.settled) return; // It was forgotten in the meantime.
      this.remove(entry);
      throw error;
    } finally {
      entry.busy = undefined;
      gate.open();
    }
    this.options.asked({ channel, session, id, kind: question.kind });
    if (!entry.settled) this.startExpiry(entry);
  }

  private startExpiry(entry: QuestionEntry): void {
    const { expiresAt } = entry.question;
    if (expiresAt === undefined) return;
    if (isOfEarlierProcess(entry)) return this.watchClocks(entry, expiresAt);
    const ms = Math.max(0, expiresAt - entry.at - this.ageOf(entry));
    entry.cancelExpiry = this.options.afterRunning(ms, () => void this.close(entry, "expired"));
  }

  /** A clock that was set ahead must not settle a question, so the one that is behind counts. */
  private watchClocks(entry: QuestionEntry, expiresAt: number): void {
    const { clock, steadyTime, afterRunning } = this.options;
    const look = (): void => {
      const now = clock.now();
      const left = expiresAt - Math.min(now, steadyTime() ?? now);
      if (left <= 0) return void this.close(entry, "expired");
      entry.cancelExpiry = afterRunning(Math.min(left, recheckMs), look);
    };
    entry.cancelExpiry = afterRunning(0, look);
  }

  /** True after the end of its time by one of the clocks, also if it is not settled yet. */
  private isPast(entry: QuestionEntry): boolean {
    const { expiresAt } = entry.question;
    if (expiresAt === undefined) return false;
    return Math.max(this.options.clock.now(), entry.at + this.ageOf(entry)) >= expiresAt;
  }

  /** @returns Milliseconds since the question was asked or, of an earlier process, restored. */
  private ageOf({ startedAt }: QuestionEntry): number {
    return this.options.clock.monotonic() - startedAt;
  }

  /** Settles the question when the signal of the application aborts. */
  private watch(entry: QuestionEntry, signal: AbortSignal | undefined): Release {
    if (!signal) return () => undefined;
    const abort = (): void => {
      const code = codeOf(signal.reason);
      const isLost = code === "application_ended" || code === "not_running";
      if (isLost && entry.question.durable !== undefined) return;
      void this.close(entry, isLost ? "lost" : "withdrawn");
    };
    if (signal.aborted) queueMicrotask(abort);
    else signal.addEventListener("abort", abort, { once: true });
    return () => signal.removeEventListener("abort", abort);
  }

  private async answerLate(to: Address, id: string): Promise<AnswerResult> {
    const settled =
      this.sessions.find(to)?.settled?.get(id) ??
      (await this.options.findSettled(to, id).catch(() => undefined));
    return settled ? { status: "already", settled } : { status: "unknown" };
  }

  /** Settles a question without an answer. Never rejects: it repeats what the store refuses. */
  private async close(entry: QuestionEntry, outcome: QuestionOutcome, by?: Sender): Promise<void> {
    const isFirst = entry.closing === undefined;
    const closing = (entry.closing ??= { outcome, by });
    while (entry.busy) await entry.busy;
    const isGone = !this.open.has(entry);
    if (isGone || entry.settled) return;
    const at = this.options.clock.now();
    const person = closing.by && { by: closing.by };
    try {
      await this.settle(entry, { outcome: closing.outcome, ...person, via: "host", at });
    } catch (error) {
      if (!isFirst || entry.settled) return;
      const { channel, session, id } = entry;
      const text = "the end of a question could not be stored; it is tried again";
      this.options.log.warn({ err: error, channel, session, id }, text);
      if (this.isStopped) return;
      this.options.after(retryMs, () => {
        entry.closing = undefined;
        void this.close(entry, closing.outcome, closing.by);
      });
    }
  }

  /**
   * Stores a settlement, and tells it. Call it in the same step in which the question was found
   * open.
   *
   * @returns The settlement that counts: an earlier one, if the store has it.
   * @throws The error of the channel or store: the question is open again.
   */
  private async settle(
    entry: QuestionEntry,
    given: QuestionSettlement,
  ): Promise<QuestionSettlement> {
    const gate = createGate();
    entry.busy = gate.opened;
    let settlement = given;
    try {
      const earlier = entry.isUnsure ? await this.findStored(entry) : undefined;
      if (earlier) settlement = earlier;
      else await this.store(entry, given);
      // The conversation was deleted in the meantime: the application knows that already.
      if (entry.settled?.outcome === "withdrawn") return entry.settled;
      if (entry.settled) return settlement;
      entry.settled = settlement;
      this.remember(entry, settlement);
      this.remove(entry);
    } catch (error) {
      entry.isUnsure = true;
      throw error;
    } finally {
      entry.busy = undefined;
      gate.open();
    }
    this.tellLater(entry, settlement);
    return settlement;
  }

  private async store(entry: QuestionEntry, settlement: QuestionSettlement): Promise<void> {
    const { channel, session, id, content, inReplyTo, question } = entry;
    const lost = isOfEarlierProcess(entry) ? lostTexts.restart : lostTexts.application;
    await this.options.update({ channel, session }, id, {
      content: `${content}\n\n${toSentence(question, settlement, lost)}`,
      question: { ...question, state: "settled", settled: settlement },
      final: true,
      ...(inReplyTo !== undefined && { inReplyTo }),
    });
  }

  /** @returns The settlement in the history, if there is one. */
  private findStored({
    channel,
    session,
    id,
  }: QuestionEntry): Promise<QuestionSettlement | undefined> {
    return this.options.findSettled({ channel, session }, id);
  }

  /** Looks whether an answer was stored though the store failed. Never rejects. */
  private async confirm(entry: QuestionEntry): Promise<void> {
    while (entry.busy) await entry.busy;
    const isGone = !this.open.has(entry);
    if (isGone || entry.settled || entry.closing || this.isStopped) return;
    const gate = createGate();
    entry.busy = gate.opened;
    try {
      const settlement = await this.findStored(entry);
      if (!settlement || entry.settled) return;
      entry.settled = settlement;
      this.remember(entry, settlement);
      this.remove(entry);
      this.tellLater(entry, settlement);
    } catch {
      this.options.after(retryMs, () => void this.confirm(entry));
    } finally {
      entry.busy = undefined;
      gate.open();
    }
  }

  private tellLater(entry: QuestionEntry, settlement: QuestionSettlement): void {
    this.announce(entry, settlement);
    // The person who answered learns the outcome first.
    this.untold.add(entry);
    if (settlement.outcome === "answered" || settlement.outcome === "dismissed")
      setImmediate(() => this.untold.has(entry) && this.tell(entry));
    else this.tell(entry);
  }

  private remember(entry: QuestionEntry, settlement: QuestionSettlement): void {
    const { owner, id } = entry;
    (owner.settled ??= new BoundedMap(maxSettled)).set(id, settlement);
  }

  private announce(entry: QuestionEntry, { outcome, via, by }: QuestionSettlement): void {
    const { channel, session, id } = entry;
    const ms = Math.max(0, this.ageOf(entry));
    this.counter.settled(outcome, via, ms);
    const person = by && { by: by.id };
    this.options.settled({ channel, session, id, outcome, via, ...person, ms: Math.round(ms) });
  }

  private tell(entry: QuestionEntry): void {
    this.untold.delete(entry);
    const { settled, tell, question } = entry;
    if (!settled) return;
    if (settled.outcome === "stopped") entry.asker?.stopped();
    entry.tell = undefined;
    const effect = effectOf(question, settled);
    tell?.({ ...settled, ...(effect && { effect }) });
    if (question.durable === undefined || !isDelivered(settled)) return;
    const settledQuestion: Question = { ...question, state: "settled", settled };
    const { channel, session, id, content, at } = entry;
    this.options.answered({ channel, session, id, content, at, question: settledQuestion });
  }
}
