// Connects the questions of the channels with stores, nodes and the messages of their answers.
import { keyOf } from "../../lib/util.ts";
import type { Conversations, SessionOwnership } from "../conversations/index.ts";
import { DurableAnswers } from "./durable-answers.ts";
import { channelsErrors } from "./errors.ts";
import { findTurn } from "./history.ts";
import { Questions, type QuestionsOptions } from "./questions.ts";
import type { Address, AnswerResult, Channels, OpenQuestion } from "./contract.ts";

interface SessionQuestionsOptions extends Omit<QuestionsOptions, "answered" | "findSettled"> {
  readonly store: Conversations["questions"];
  readonly ownership: SessionOwnership | undefined;
  readonly history: Channels["history"];
  readonly deliver: ConstructorParameters<typeof DurableAnswers>[0]["deliver"];
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
  /** The questions of these sessions are being read. Key: the session, or empty for all. */
  private readonly loading = new Map<string, Promise<void>>();
  private isRunning = false;

  constructor(options: SessionQuestionsOptions) {
    const { log, after, deliver, history } = options;
    this.options = options;
    this.answers = new DurableAnswers({ log, after, deliver });
    this.questions = new Questions({
      ...options,
      answered: (question) => this.answers.add(question),
      async findSettled(to, id) {
        const turn = await findTurn(history, to, (each) => each.id === id, maxPages);
        return turn?.question?.settled;
      },
    });
  }

  /** @throws not_owner if another node has the session. */
  readonly ask = (async (to: Address, question: Parameters<Questions["ask"]>[1]) => {
    const { ownership } = this.options;
    if (ownership && (await ownership.claim(to)) !== "own") throw channelsErrors.not_owner();
    return this.questions.ask(to, question);
  }) as Channels["ask"];

  /** Answers a question of a session that this node has. */
  readonly answer: Channels["answer"] = async (to, ...given): Promise<AnswerResult> => {
    await (this.loading.get("") ?? this.loading.get(keyOf(to.channel, to.session)));
    return this.questions.answer(to, ...given);
  };

  /** Lists the open questions of a session that this node has, oldest first. */
  async openIn({ channel, session }: Address): Promise<readonly OpenQuestion[]> {
    await (this.loading.get("") ?? this.loading.get(keyOf(channel, session)));
    return this.questions.list({ channel, session });
  }

  /** @returns The calls of the service that concern questions. */
  calls(
    remove: Channels["remove"],
  ): Pick<
    Channels,
    "ask" | "deliverAnswers" | "findQuestion" | "questionCounts" | "questions" | "remove"
  > {
    const { ask, answers, questions } = this;
    return {
      ask,
      questions: (filter) => questions.list(filter),
      findQuestion: (id) => questions.find(id),
      deliverAnswers: () => answers.deliverAll(),
      questionCounts: () => questions.counter.read(),
      remove: (to, id) => questions.withdraw(to, id)?.then(() => remove(to, id)) ?? remove(to, id),
    };
  }

  isOpen(address: Address): boolean {
    return this.questions.isOpen(address);
  }

  /** This node has the session from now on. */
  taken(address: Address): void {
    this.load({ channel: address.channel, session: address.session });
  }

  /** Another node has the session: it settles the questions. */
  lost(address: Address): void {
    this.questions.forget(address, "lost");
    this.answers.forget(address);
  }

  /** The conversation of the session is being deleted. */
  deleted(address: Address): void {
    this.questions.forget(address, "withdrawn");
    this.answers.forget(address);
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
      const sessions = new Map(
        stored.map(({ channel, session }) => {
          const address = { channel, session };
          return [keyOf(address.channel, address.session), address];
        }),
      );
      for (const address of sessions.values()) await ownership!.claim(address);
    } catch (err) {
      log.debug({ err }, "the open questions of all nodes could not be read");
    }
    after(sweepMs, () => void this.sweep());
  }

  private load(address?: Address): void {
    if (!this.options.store) return;
    const key = address ? keyOf(address.channel, address.session) : "";
    const loaded = this.read(address).finally(() => {
      if (this.loading.get(key) === loaded) this.loading.delete(key);
    });
    this.loading.set(key, loaded);
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
