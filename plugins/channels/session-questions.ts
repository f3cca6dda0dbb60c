// Connects the questions of the channels with stores, nodes and the messages of their answers.
import { codeOf } from "../../kernel/index.ts";
import type { Conversations, SessionOwnership } from "../conversations/index.ts";
import { DurableAnswers } from "./durable-answers.ts";
import { channelsErrors } from "./errors.ts";
import { findTurn } from "./history.ts";
import { Questions, type QuestionsOptions } from "./questions.ts";
import type { Address, AnswerResult, Channels, OpenQuestion } from "./contract.ts";
import type { Sessions } from "./sessions.ts";

interface SessionQuestionsOptions extends Omit<QuestionsOptions, "answered" | "findSettled"> {
  readonly store: Conversations["questions"];
  readonly ownership: SessionOwnership | undefined;
  readonly history: Channels["history"];
  readonly deliver: ConstructorParameters<typeof DurableAnswers>[0]["deliver"];
  /** No application could accept the answer of this question yet. */
  readonly waits: ConstructorParameters<typeof DurableAnswers>[0]["waits"];
}

/** Pages of turns in which the settlement of an earlier question is looked up. */
const maxPages = 1;
/** Pause before the questions of an earlier process are read again. */
const retryMs = 2_000;

/** Pause between two looks for questions whose node is gone. */
const sweepMs = 10_000;

export class SessionQuestions {
  readonly questions: Questions;
  private readonly options: SessionQuestionsOptions;
  private readonly answers: DurableAnswers;
  private readonly sessions: Sessions;
  /** The questions of all sessions are being read. */
  loading: Promise<void> | undefined;
  private isRunning = false;

  constructor(options: SessionQuestionsOptions, sessions: Sessions) {
    const { log, after, deliver, history, waits } = options;
    this.options = options;
    this.sessions = sessions;
    this.answers = new DurableAnswers({ log, after, deliver, waits }, sessions);
    const questionsOptions: QuestionsOptions = {
      ...options,
      answered: (question) => this.answers.add(question),
      async findSettled(to, id) {
        const turn = await findTurn(history, to, (each) => each.id === id, maxPages);
        return turn?.question?.settled;
      },
    };
    this.questions = new Questions(questionsOptions, sessions);
  }

  /** @throws not_owner if another node has the session. */
  readonly ask = (async (to: Address, question: Parameters<Questions["ask"]>[1]) => {
    const { ownership } = this.options;
    if (ownership && (await ownership.claim(to)) !== "own") throw channelsErrors.not_owner();
    return this.questions.ask(to, question);
  }) as Channels["ask"];

  /** Answers a question of a session that this node has. */
  readonly answer: Channels["answer"] = async (to, ...given): Promise<AnswerResult> => {
    await (this.loading ?? this.sessions.find(to)?.loading);
    return this.questions.answer(to, ...given);
  };

  /** Lists the open questions of a session that this node has, oldest first. */
  async openIn(address: Address): Promise<readonly OpenQuestion[]> {
    await (this.loading ?? this.sessions.find(address)?.loading);
    const { channel, session } = address;
    return this.questions.list({ channel, session });
  }

  /** @returns The calls of the service that concern questions. */
  calls(
    remove: Channels["remove"],
  ): Pick<
    Channels,
    | "allQuestions"
    | "ask"
    | "deliverAnswers"
    | "findQuestion"
    | "questionCounts"
    | "questions"
    | "remove"
  > {
    const { ask, answers, questions } = this;
    return {
      ask,
      questions: (filter) => questions.list(filter),
      allQuestions: (filter) => this.listAll(filter),
      findQuestion: (id) => questions.find(id),
      deliverAnswers: () => answers.deliverAll(),
      questionCounts: () => questions.counter.read(),
      remove: (to, id) => questions.withdraw(to, id)?.then(() => remove(to, id)) ?? remove(to, id),
    };
  }

  /** Adds the questions that other nodes have: the store knows them all. */
  private async listAll(filter: Partial<Address> = {}): Promise<readonly OpenQuestion[]> {
    const { store, ownership } = this.options;
    const { channel, session } = filter;
    if (!ownership || !store) return this.questions.list(filter);
    const stored = await store
      .list(channel !== undefined && session !== undefined ? { channel, session } : undefined)
      .catch((error: unknown) => {
        if (codeOf(error) === "store_unavailable") return [];
        throw error;
      });
    for (const { id, at } of stored) this.questions.noteTime(id, at);
    // Read after the store, so that a settlement here in the meantime counts.
    const own = this.questions.list(filter);
    const others = stored.filter(
      ({ id, question, ...address }) =>
        question.state === "open" &&
        (channel ?? address.channel) === address.channel &&
        (session ?? address.session) === address.session &&
        this.questions.find(id) === undefined,
    );
    return [...own, ...others].toSorted((a, b) => a.at - b.at);
  }

  isOpen(address: Address): boolean {
    return this.questions.isOpen(address);
  }

  /** This node has the session from now on. */
  taken(address: Address): void {
    this.load({ channel: address.channel, session: address.session });
  }

  /** Continues with the questions of an earlier process. */
  start(): void {
    this.isRunning = true;
    // Nodes that share a store read those of each session that they take.
    if (this.options.ownership) void this.sweep();
    else this.load();
  }

  /** A channel that is attached later may have questions, too. */
  attached(): void {
    if (this.isRunning && !this.options.ownership) this.load();
  }

  stop(): Promise<void> {
    this.isRunning = false;
    return this.questions.stop();
  }

  /** Takes the sessions whose node is gone, so that no question stays open without one. */
  private async sweep(): Promise<void> {
    const { store, ownership, after, log } = this.options;
    if (!this.isRunning || !store) return;
    try {
      const stored = await store.list();
      const sessions = new Set(stored.map((question) => this.sessions.open(question)));
      for (const { channel, session } of sessions) await ownership!.claim({ channel, session });
    } catch (err) {
      log.debug({ err }, "the open questions of all nodes could not be read");
    }
    after(sweepMs, () => void this.sweep());
  }

  private load(address?: Address): void {
    if (!this.options.store) return;
    const place: { loading: Promise<void> | undefined } = address
      ? this.sessions.open(address)
      : this;
    const loaded = this.read(address).finally(() => {
      if (place.loading === loaded) place.loading = undefined;
    });
    place.loading = loaded;
  }

  private async read(address: Address | undefined): Promise<void> {
    const { store, canUpdate, log, after } = this.options;
    try {
      const stored = await store!.list(address);
      const usable = stored.filter(({ channel }) => canUpdate(channel) === true);
      await this.questions.restore(usable);
    } catch (err) {
      log.warn({ err }, "the open questions could not be read; they are read again");
      after(retryMs, () => {
        if (this.isRunning) this.load(address);
      });
    }
  }
}
