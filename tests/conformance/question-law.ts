// The law of questions: each is settled once, and the log has it before the application knows.
// Random schedules of asks, answers, stops, expiry, withdrawals, failures of the store and kills.
import fc from "fast-check";
import { expect } from "vitest";
import { DoorwardError, type AnyPlugin, type Plugin } from "../../kernel/index.ts";
import { withKernel, type StoppedClock } from "../../kernel/testing.ts";
import {
  application,
  channels,
  type AnswerResult,
  type ChannelAdapter,
  type ChannelHandle,
  type Channels,
  type Message,
  type OutboundMessage,
  type Question,
  type QuestionSettlement,
} from "../../plugins/channels/index.ts";
import type { Conversations } from "../../plugins/conversations/index.ts";

const channel = "sample";
const sessions = ["a", "b"] as const;
const vias = ["dashboard", "pico", "cli", "push", "acp"] as const;
const optionIds = ["yes", "always", "no", "wrong"] as const;

type Step =
  | { readonly do: "message"; readonly at: number; readonly timeoutMs?: number }
  | { readonly do: "ask"; readonly at: number; readonly isDurable: boolean }
  | { readonly do: "answer"; readonly at: number; readonly by: number; readonly option: number }
  | { readonly do: "dismiss" | "withdraw" | "stop" | "end"; readonly at: number }
  | { readonly do: "pass"; readonly ms: number }
  | { readonly do: "away" | "back" | "hold" | "release" | "turn" | "kill" | "restart" };

const at = fc.nat(7);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("message" as const), at }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("message" as const),
      at,
      timeoutMs: fc.integer({ min: 1, max: 3_000 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("ask" as const), at, isDurable: fc.boolean() }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("answer" as const),
      at,
      by: fc.nat(vias.length - 1),
      option: fc.nat(optionIds.length - 1),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom("dismiss" as const, "withdraw" as const, "stop" as const, "end" as const),
      at,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("pass" as const),
      ms: fc.integer({ min: 1, max: 4e3 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom("away", "back", "hold", "release", "turn", "turn", "kill", "restart"),
    }) as fc.Arbitrary<Step>,
  },
);

interface LoggedQuestion {
  readonly session: string;
  readonly content: string;
  readonly asked: Question;
  settled: QuestionSettlement | undefined;
  settlements: number;
  isUndelivered: boolean;
}

/** The stored questions, which outlive the processes. */
class Log {
  readonly questions = new Map<string, LoggedQuestion>();
  readonly taken = new Set<string>();
  isAway = false;
  held: { readonly opened: Promise<void>; open(): void } | undefined;

  hold(): void {
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => void (open = resolve));
    this.held ??= { opened, open };
  }

  release(): void {
    this.held?.open();
    this.held = undefined;
  }

  write(session: string, id: string, { content, question }: OutboundMessage): void {
    if (!question) return;
    if (question.state === "open") {
      const entry = { session, content, asked: question, settled: undefined };
      this.questions.set(id, { ...entry, settlements: 0, isUndelivered: false });
      return;
    }
    const entry = this.questions.get(id)!;
    entry.settled = question.settled!;
    entry.settlements += 1;
    const { outcome } = question.settled!;
    entry.isUndelivered =
      question.durable !== undefined && ["answered", "dismissed", "expired"].includes(outcome);
  }

  /** The part of the conversations that questions use. */
  service(isAlive: () => boolean): Conversations {
    const { questions, taken } = this;
    const list = async () =>
      [...questions].flatMap(([id, { session, content, asked, settled, isUndelivered }]) => {
        const stored = { channel, session, id, content, at: 0 };
        if (!settled) return [{ ...stored, question: asked }];
        if (!isUndelivered) return [];
        return [{ ...stored, question: { ...asked, state: "settled" as const, settled } }];
      });
    const service: Partial<Conversations> = {
      find: async () => undefined,
      questions: { list },
      taken: {
        known: async ({ session }) =>
          [...taken].flatMap((key) => {
            const [own, id = ""] = key.split("\0");
            return own === session ? [{ id, ageMs: 0 }] : [];
          }),
        discard: async () => undefined,
        settle: async ({ session }, id) => {
          if (!isAlive()) throw new DoorwardError("store_unavailable", "killed");
          taken.add(`${session}\0${id}`);
          const question = questions.get(id.replace("answer:", ""));
          if (question && id.startsWith("answer:")) question.isUndelivered = false;
        },
      },
    };
    return service as Conversations;
  }
}

interface Told {
  /** Undefined if the log did not have the outcome. */
  readonly id: string | undefined;
  readonly outcome: string;
  readonly isRight: boolean;
}

/** One process: a kernel whose channel writes to the log until the process is killed. */
class Process {
  isAlive = true;
  calls!: Channels;
  handle!: ChannelHandle;
  readonly told: Told[] = [];
  readonly delivered: Message[] = [];
  private readonly log: Log;
  private readonly controllers: AbortController[] = [];
  private count = 0;
  end: (code: string | undefined) => void = () => undefined;

  constructor(log: Log) {
    this.log = log;
  }

  plugins(): readonly AnyPlugin[] {
    const { log } = this;
    const store: Plugin = {
      name: "conversations",
      api: 1,
      start: () => ({ conversations: log.service(() => this.isAlive) }) as never,
    };
    const adapter: ChannelAdapter = {
      name: channel,
      keeps: false,
      send: (session, id, message) => this.append(session, id, message),
      update: (session, id, message) => this.append(session, id, message),
    };
    const channelPlugin = {
      name: channel,
      api: 1,
      needs: { channels: true },
      start: ({ needs }: { needs: { channels: Channels } }) => {
        this.calls = needs.channels;
        this.handle = needs.channels.attach(adapter);
      },
    };
    return [
      store,
      channels() as unknown as AnyPlugin,
      channelPlugin as never,
      application((message) => this.answer(message)) as unknown as AnyPlugin,
    ];
  }

  message(session: string, timeoutMs?: number): void {
    const id = `m${(this.count += 1)}-${Math.random()}`;
    const content = timeoutMs === undefined ? "" : String(timeoutMs);
    const message = { channel, session, id, content, media: [], at: 0, hops: 0 };
    this.handle.deliver(message).catch(() => undefined);
  }

  ask(session: string, isDurable: boolean): void {
    const controller = new AbortController();
    this.controllers.push(controller);
    const to = { channel, session };
    const question = { ...this.question(), signal: controller.signal };
    if (isDurable) void this.calls.ask(to, { ...question, durable: "key" }).catch(() => undefined);
    else void this.note(this.calls.ask(to, question));
  }

  withdraw(index: number, reason: unknown): void {
    this.controllers[index % Math.max(1, this.controllers.length)]?.abort(reason);
  }

  /** Fails all messages, as the end of a program does. */
  programEnds(): void {
    const ended = new DoorwardError("application_ended", "ended");
    for (const controller of this.controllers) controller.abort(ended);
    this.end("application_ended");
  }

  private question() {
    const options = [
      { id: "yes", label: "Yes", effect: "allow" },
      { id: "always", label: "Always", effect: "allow", lasting: true },
      { id: "no", label: "No", effect: "deny" },
    ] as const;
    return { kind: "approval" as const, content: "Go?", options };
  }

  private async answer(message: Message): Promise<void> {
    if (message.answer) return void this.delivered.push(message);
    const timeoutMs = message.content === "" ? {} : { timeoutMs: Number(message.content) };
    const ended = new Promise<never>((_, reject) => {
      const previous = this.end;
      this.end = (code) => {
        previous(code);
        reject(new DoorwardError(code ?? "internal", "ended"));
      };
    });
    ended.catch(() => undefined);
    await Promise.race([this.note(message.ask({ ...this.question(), ...timeoutMs })), ended]);
  }

  /** The law, at the moment at which the application learns an outcome. */
  private async note(asked: Promise<QuestionSettlement & { effect?: string }>): Promise<void> {
    const {
      outcome,
      option,
      effect,
      at: settledAt,
      by,
    } = await asked.catch(() => ({
      outcome: undefined,
      option: undefined,
      effect: undefined,
      at: 0,
      by: undefined,
    }));
    if (outcome === undefined || !this.isAlive) return;
    const found = [...this.log.questions].find(
      ([, { settled }]) =>
        settled?.outcome === outcome &&
        settled.option === option &&
        settled.at === settledAt &&
        settled.by?.id === by?.id,
    );
    const isAllowed = outcome === "answered" && (option === "yes" || option === "always");
    // An error here would only fail the message.
    this.told.push({ id: found?.[0], outcome, isRight: (effect === "allow") === isAllowed });
  }

  private async append(session: string, id: string, message: OutboundMessage) {
    await this.log.held?.opened;
    // A killed process writes nothing. The test ignores what it does until its kernel is stopped.
    if (!this.isAlive || this.log.isAway) throw new DoorwardError("store_unavailable", "away");
    this.log.write(session, id, message);
    return { id, status: "written" as const };
  }
}

const turn = (): Promise<void> => new Promise(setImmediate);
async function turns(count = 6): Promise<void> {
  for (let index = 0; index < count; index += 1) await turn();
}

interface Given {
  readonly id: string;
  readonly result: AnswerResult;
}

function act(process: Process, log: Log, clock: StoppedClock, given: Given[], next: Step): void {
  const ids = [...log.questions.keys()];
  switch (next.do) {
    case "message":
      return process.message(sessions[next.at % 2]!, next.timeoutMs);
    case "ask":
      return process.ask(sessions[next.at % 2]!, next.isDurable);
    case "answer":
    case "dismiss": {
      const id = ids.at(-1 - (next.at % Math.max(1, ids.length)));
      if (id === undefined) return;
      const { session } = log.questions.get(id)!;
      const isAnswer = next.do === "answer";
      const answer = isAnswer ? { option: optionIds[next.option]! } : { dismiss: true };
      const via = vias[isAnswer ? next.by : 0]!;
      process.calls.answer({ channel, session }, id, answer, { id: via }, via).then(
        (result) => void (process.isAlive && given.push({ id, result })),
        () => undefined,
      );
      return;
    }
    case "withdraw":
      return process.withdraw(next.at, undefined);
    case "stop":
      return void process.handle.stop(sessions[next.at % 2]!, undefined, { id: "owner" });
    case "end":
      return process.programEnds();
    case "pass":
      clock.increment(next.ms);
      return;
    case "away":
      return void (log.isAway = true);
    case "back":
      return void (log.isAway = false);
    case "hold":
      return log.hold();
    case "release":
      return log.release();
    default:
  }
}

/** Runs steps in one process. @returns The steps after a kill or a restart. */
async function live(log: Log, steps: readonly Step[], given: Given[], told: Told[]) {
  const own = new Process(log);
  let rest: readonly Step[] = [];
  const plugins = own.plugins();
  await withKernel(plugins as never, async ({ clock }) => {
    for (const [index, next] of steps.entries()) {
      if (next.do === "turn") await turns(2);
      else if (next.do === "kill" || next.do === "restart") {
        if (next.do === "kill") own.isAlive = false;
        if (next.do === "kill") log.release();
        rest = steps.slice(index + 1);
        break;
      } else act(own, log, clock, given, next);
    }
    if (!own.isAlive) return;
    log.isAway = false;
    log.release();
    for (let count = 0; count < 3; count += 1) {
      await turns();
      clock.increment(5_000);
    }
    await turns();
  }).catch((error: unknown) => {
    if (own.isAlive) throw error;
  });
  log.isAway = false;
  log.release();
  told.push(...own.told);
  return { rest, delivered: own.delivered };
}

function check(log: Log, given: readonly Given[], told: readonly Told[]): void {
  for (const [id, { settled, settlements, asked }] of log.questions) {
    expect(settlements, id).toBeLessThanOrEqual(1);
    if (asked.durable === undefined) expect(settled, `${id} is still open`).toBeDefined();
    const counted = given.filter(
      ({ id: own, result }) => own === id && result.status === "settled",
    );
    expect(counted.length).toBeLessThanOrEqual(1);
    for (const { result } of given.filter((one) => one.id === id))
      if (result.settled) expect(result.settled).toEqual(settled);
  }
  expect(told.filter(({ id, isRight }) => id === undefined || !isRight)).toEqual([]);
  // Outcomes without a person may be equal, so only answered ones identify their question.
  const answered = told.filter(({ outcome }) => outcome === "answered").length;
  const logged = [...log.questions.values()].filter(
    ({ settled, asked }) => settled?.outcome === "answered" && asked.durable === undefined,
  ).length;
  expect(answered).toBeLessThanOrEqual(logged);
  expect(told.length).toBeLessThanOrEqual(log.questions.size);
}

/** Checks random schedules. */
export const checkQuestionLaw = (numRuns: number): Promise<void> =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 40 }), async (steps) => {
      const log = new Log();
      const given: Given[] = [];
      const told: Told[] = [];
      const delivered: string[] = [];
      for (let rest: readonly Step[] = steps; ;) {
        const ended = await live(log, rest, given, told);
        delivered.push(...ended.delivered.map(({ id }) => id));
        check({ ...log, questions: settledOnly(log) } as never, given, told);
        if (ended.rest.length === 0) break;
        rest = ended.rest;
      }
      // The last process closes what a killed one has left, and delivers all answers.
      const last = await live(log, [], given, told);
      delivered.push(...last.delivered.map(({ id }) => id));
      check(log, given, told);
      for (const [id, { asked, isUndelivered, settled }] of log.questions) {
        if (asked.durable === undefined) continue;
        expect(isUndelivered, `the answer to ${id} was not delivered`).toBe(false);
        const isExpected = ["answered", "dismissed", "expired"].includes(settled?.outcome ?? "");
        expect(delivered.includes(`answer:${id}`)).toBe(isExpected);
      }
    }),
    { numRuns },
  );

/** Open questions are correct while processes follow. */
const settledOnly = (log: Log): Log["questions"] =>
  new Map([...log.questions].filter(([, { settled }]) => settled));
