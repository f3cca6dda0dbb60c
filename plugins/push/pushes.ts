// Decides when a device receives a notification: about questions that wait, and answers that are
// ready, while no page is in sight.
import { codeOf, type Log, type Release } from "../../kernel/index.ts";
import { BoundedMap } from "../../lib/util.ts";
import type { Address, AnswerResult, Channels, OpenQuestion } from "../channels/index.ts";
import type { PushConfig } from "./config.ts";
import type { Delivered, DeviceDelivery } from "./delivery.ts";
import type { Device, Devices } from "./devices.ts";
import { createTicket, type Notices, type SentNotice, type Shown } from "./notices.ts";
import {
  actionsOf,
  answersText,
  endedText,
  excerpt,
  questionsText,
  toMessage,
  topicOf,
  type Action,
  type Ended,
  type Notice,
} from "./payload.ts";
import type { Delivery } from "./sender.ts";
import type { Seen } from "./seen.ts";

interface PushesOptions {
  readonly clock: { now(): number; monotonic(): number };
  readonly after: (ms: number, run: () => void) => Release;
  readonly random: (bytes: number) => Uint8Array;
  readonly log: Log;
  readonly config: () => PushConfig;
  readonly channels: Pick<Channels, "allQuestions" | "answer" | "history" | "questions">;
  readonly devices: Devices;
  readonly notices: Notices;
  readonly delivery: DeviceDelivery;
  readonly seen: Seen;
  /** Name of this node. */
  readonly node: string;
}

/** Many questions are answered at the desk. */
const questionDelayMs = 3_000;
/** One notification of a session in this time. */
const sessionPauseMs = 10_000;
/** A page is in sight: looks again, because its person may leave. */
const lookAgainMs = 10_000;
const maxTtlS = 86_400;
/** Sessions whose questions and answers may be waiting. */
const maxSessions = 1_000;

/** The outcome of an answer by a button. `used`: the ticket has answered before. */
interface ButtonAnswer {
  readonly status: AnswerResult["status"] | "used" | "not_stored";
  /** The effect of the button. */
  readonly effect?: "allow" | "deny";
}

/** Questions and answers of one session that were not sent yet. */
interface Waiting {
  readonly address: Address;
  /** Question -> monotonic time at which it was asked. */
  readonly questions: Map<string, number>;
  answers: number;
  isArmed: boolean;
  lastAt: number | undefined;
}

const keyOf = ({ channel, session }: Address): string => JSON.stringify([channel, session]);
const personAsks = { id: "owner" } as const;

export class Pushes {
  private readonly options: PushesOptions;
  private readonly waiting = new BoundedMap<string, Waiting>(maxSessions);
  /** Notification -> its last step: first it is sent, then it is replaced. */
  private readonly turns = new Map<string, Promise<void>>();

  constructor(options: PushesOptions) {
    this.options = options;
  }

  /** A question was asked. */
  asked(address: Address, question: string): void {
    if (!this.options.config().questions) return;
    const waiting = this.waitingOf(address);
    waiting.questions.set(question, this.options.clock.monotonic());
    this.arm(waiting, questionDelayMs);
  }

  /** The answer to a message that the owner has written in the chat has ended. */
  answered(address: Address, ms: number): void {
    const { answers, answer_after_s: seconds } = this.options.config();
    if (!answers || ms < seconds * 1_000) return;
    const waiting = this.waitingOf(address);
    waiting.answers += 1;
    this.arm(waiting, 0);
  }

  /** A question was settled: no device must show it as open any more. */
  settled(address: Address, question: string, ended: Ended): void {
    this.waiting.get(keyOf(address))?.questions.delete(question);
    void this.replace(question, ended).catch((err: unknown) =>
      this.options.log.warn({ err }, "a notification could not be replaced"),
    );
  }

  /** Replaces what says that questions of an earlier start wait, although they do not. */
  async resume(): Promise<void> {
    const { notices, node, channels } = this.options;
    for (const { node: sender, questions } of await notices.list()) {
      if (sender !== node) continue;
      const open = new Set(channels.questions().map(({ id }) => id));
      for (const question of questions)
        if (!open.has(question)) await this.replace(question, { outcome: "lost" });
    }
  }

  /** Answers by the button of a notification. */
  async answer(ticket: string, option: string): Promise<ButtonAnswer> {
    const { channels, devices, notices } = this.options;
    const use = await notices.use(ticket, option);
    if (use.status !== "free") return { status: use.status };
    const device = await devices.get(use.device);
    if (!device || !devices.mayAnswer(device)) return { status: "unknown" };
    const { channel, session } = use.notice;
    const address = { channel, session };
    try {
      const asked = (await channels.allQuestions(address)).find(({ id }) => id === use.id);
      const effect = asked?.question.options?.find(({ id }) => id === option)?.effect;
      const result = await channels.answer(address, use.id, { option }, personAsks, "push");
      return { status: result.status, ...(effect && { effect }) };
    } catch (error) {
      this.options.log.warn({ code: codeOf(error) }, "an answer by a notification was not stored");
      await use.release();
      return { status: "not_stored" };
    }
  }

  /** Sends a test to one device, or to all. */
  async test(id?: string): Promise<readonly (Delivered & { readonly device: Device })[]> {
    const devices = await this.options.devices.list();
    const wanted = devices.filter((device) => id === undefined || device.id === id);
    return Promise.all(
      wanted.map(async (device) => {
        const notice = {
          body: "Doorward can reach you",
          navigate: new URL("settings/notifications", device.base).href,
          tag: "test",
        };
        const delivery = { ttl: 60, urgency: "high", topic: topicOf("test") } as const;
        return { device, ...(await this.deliver(device, notice, delivery)) };
      }),
    );
  }

  private waitingOf(address: Address): Waiting {
    const key = keyOf(address);
    const known = this.waiting.get(key);
    if (known) return known;
    const { channel, session } = address;
    const created: Waiting = {
      address: { channel, session },
      questions: new Map(),
      answers: 0,
      isArmed: false,
      lastAt: undefined,
    };
    this.waiting.set(key, created);
    return created;
  }

  private arm(waiting: Waiting, ms: number): void {
    if (waiting.isArmed) return;
    waiting.isArmed = true;
    const { clock, after, log } = this.options;
    const pause =
      waiting.lastAt === undefined ? 0 : waiting.lastAt + sessionPauseMs - clock.monotonic();
    after(Math.max(ms, pause), () => {
      waiting.isArmed = false;
      void this.send(waiting).catch((err: unknown) =>
        log.warn({ err }, "a notification could not be sent"),
      );
    });
  }

  private async send(waiting: Waiting): Promise<void> {
    const { clock, devices, seen } = this.options;
    const isLooking = await seen.isLooking();
    const receivers = isLooking ? [] : await devices.list();
    // Nothing is awaited from here until a question counts as shown, so no settlement is missed.
    const open = this.openOf(waiting);
    const young = open.filter(({ id }) => this.isYoung(waiting, id));
    // A person who looks has seen the answer; a question may still wait when they leave.
    if (isLooking) waiting.answers = 0;
    if (isLooking && open.length > 0) return this.arm(waiting, lookAgainMs);
    const due = open.filter((each) => !young.includes(each));
    for (const { id } of due) waiting.questions.delete(id);
    if (young.length > 0) this.arm(waiting, questionDelayMs);
    const { answers } = waiting;
    waiting.answers = 0;
    if (receivers.length === 0 || due.length + answers === 0) return;
    waiting.lastAt = clock.monotonic();
    if (due.length > 0) await this.sendQuestions(waiting.address, due, receivers);
    else await this.sendAnswers(waiting.address, answers, receivers);
  }

  /** @returns The questions that wait to be sent. Those that were settled are forgotten. */
  private openOf({ address, questions }: Waiting): readonly OpenQuestion[] {
    const open = this.options.channels.questions(address).filter(({ id }) => questions.has(id));
    for (const id of questions.keys())
      if (!open.some((each) => each.id === id)) questions.delete(id);
    return open;
  }

  private isYoung({ questions }: Waiting, id: string): boolean {
    const askedAt = questions.get(id) ?? 0;
    return this.options.clock.monotonic() - askedAt < questionDelayMs;
  }

  private async sendQuestions(
    address: Address,
    open: readonly OpenQuestion[],
    receivers: readonly Device[],
  ): Promise<void> {
    const { notices, devices, random, node } = this.options;
    const [first] = open;
    const id = first!.id;
    const actions = open.length === 1 ? actionsOf(first!, this.options.config()) : [];
    const tickets = new Map(
      receivers
        .filter((device) => actions.length > 0 && devices.mayAnswer(device))
        .map((device) => [device.id, createTicket(id, random)]),
    );
    const shown: readonly Shown[] = receivers.map((device) => {
      const ticket = tickets.get(device.id);
      return { device: device.id, ...(ticket && { ticket: ticket.digest }) };
    });
    const options = actions.map(({ action }) => action).filter((action) => action !== "open");
    const questions = open.map((each) => each.id);
    const claimed = notices.claim(id, { ...address, questions, shown, options, node });
    await this.inTurn(id, async () => {
      if (!(await claimed)) return;
      await this.sendOpen(id, address, open, receivers, { tickets, actions });
    });
  }

  private async sendOpen(
    id: string,
    address: Address,
    open: readonly OpenQuestion[],
    receivers: readonly Device[],
    extra: {
      readonly tickets?: ReadonlyMap<string, { readonly ticket: string }>;
      readonly actions?: readonly Action[];
      readonly isUpdate?: true;
    },
  ): Promise<void> {
    const delivery = {
      ttl: this.ttlOf(open),
      urgency: extra.isUpdate ? "normal" : "high",
      topic: topicOf(id),
    } as const;
    const { tickets, actions = [], isUpdate } = extra;
    await Promise.all(
      receivers.map((device) => {
        const ticket = tickets?.get(device.id)?.ticket;
        const notice = {
          body: questionsText(open, this.options.config()),
          navigate: new URL(pathOf(address, open), device.base).href,
          tag: tagOf(id),
          ...(ticket !== undefined && { ticket, actions }),
          ...(isUpdate && { isUpdate }),
        };
        return this.deliver(device, notice, delivery);
      }),
    );
  }

  private async sendAnswers(
    address: Address,
    count: number,
    receivers: readonly Device[],
  ): Promise<void> {
    const topic = topicOf("ready", keyOf(address));
    const text = count === 1 ? await this.newestText(address) : undefined;
    const delivery = { ttl: maxTtlS, urgency: "normal", topic } as const;
    await Promise.all(
      receivers.map((device) => {
        const notice = {
          body: text ?? answersText(count),
          navigate: new URL(`chat/${encodeURIComponent(address.session)}`, device.base).href,
          tag: `r-${topic}`,
        };
        return this.deliver(device, notice, delivery);
      }),
    );
  }

  /** @returns The first characters of the newest answer, if the owner wants to see content. */
  private async newestText(address: Address): Promise<string | undefined> {
    if (!this.options.config().show_content) return undefined;
    const { items } = await this.options.channels.history(address, { limit: 1 });
    const text = excerpt(items.at(-1)?.content ?? "");
    return text === "" ? undefined : text;
  }

  private async replace(question: string, ended: Ended): Promise<void> {
    const found = await this.options.notices.find(question);
    if (!found) return;
    const { id } = found;
    await this.inTurn(id, async () => {
      const newest = (await this.options.notices.find(question)) ?? found;
      await this.replaceNow(id, newest, question, ended);
    });
  }

  private async replaceNow(
    id: string,
    { shown, ...notice }: SentNotice,
    question: string,
    ended: Ended,
  ): Promise<void> {
    const { channels, devices, notices } = this.options;
    const { channel, session, questions } = notice;
    // Another node may have the session now, and keeps its questions open.
    const asked = await channels.allQuestions({ channel, session });
    const open = asked.filter(({ id: each }) => questions.includes(each));
    if (open.length === questions.length) return;
    if (open.length > 0) {
      const left = open.map((each) => each.id);
      await notices.reduce(id, { ...notice, questions: left, shown });
    } else await notices.remove(id);
    // The worker of the device that answered has replaced its own.
    const ids = new Set(shown.filter(({ used }) => used === undefined).map(({ device }) => device));
    const receivers = (await devices.list()).filter((device) => ids.has(device.id));
    if (open.length > 0) return this.sendOpen(id, notice, open, receivers, { isUpdate: true });
    const delivery = { ttl: maxTtlS, urgency: "normal", topic: topicOf(id) } as const;
    await Promise.all(
      receivers.map((device) => {
        const update = {
          body: endedText(ended, this.options.config()),
          navigate: new URL(askPath(notice.session, question), device.base).href,
          tag: tagOf(id),
          isUpdate: true,
        } as const;
        return this.deliver(device, update, delivery);
      }),
    );
  }

  private deliver(device: Device, notice: Notice, delivery: Delivery): Promise<Delivered> {
    const { body: _, ticket: __, actions: ___, ...rest } = notice;
    const short = toMessage({ ...rest, body: notice.isUpdate ? "Updated" : "Something waits" });
    return this.options.delivery.deliver(device, toMessage(notice), delivery, short);
  }

  private ttlOf(open: readonly OpenQuestion[]): number {
    const ends = open.flatMap(({ question: { expiresAt } }) => expiresAt ?? []);
    const left = ends.map((at) => Math.ceil((at - this.options.clock.now()) / 1_000));
    return Math.max(1, Math.min(maxTtlS, ...left));
  }

  /** Runs the steps of one notification one after another. */
  private async inTurn(id: string, step: () => Promise<void>): Promise<void> {
    const before = this.turns.get(id) ?? Promise.resolve();
    const turn = before.catch(() => undefined).then(step);
    this.turns.set(id, turn);
    try {
      await turn;
    } finally {
      if (this.turns.get(id) === turn) this.turns.delete(id);
    }
  }
}

const tagOf = (id: string): string => `q-${id.slice(0, 16)}`;

const askPath = (session: string, id: string): string =>
  `ask/${encodeURIComponent(session)}/${encodeURIComponent(id)}`;

/** One question has a page; several are in their conversation, if the chat shows it. */
function pathOf({ channel, session }: Address, open: readonly OpenQuestion[]): string {
  if (open.length === 1) return askPath(session, open[0]!.id);
  return channel === "pico" ? `chat/${encodeURIComponent(session)}` : "overview";
}
