// A session as its users see it: any order of messages, answers, questions, stops, deletions, losses
// to another node, returns and long pauses.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Plugin } from "../../kernel/index.ts";
import { withKernel } from "../../kernel/testing.ts";
import { application, channels, type Message } from "../../plugins/channels/index.ts";
import type {
  Conversations,
  OwnershipListener,
  SessionOwnership,
  TakenId,
} from "../../plugins/conversations/index.ts";
import { runs, weighted } from "../support/runs.ts";
import { createSampleChannel, gate } from "../support/sample-channel.ts";

const channel = "sample";
/** With keys that join names by a NUL character, the last two would share a message. */
const sessions = ["a", "b", "b\0m1"];
const idleMs = 700_000;

const steps = fc.array(
  fc.record({
    act: weighted({
      message: 8,
      repeat: 3,
      ask: 4,
      answer: 4,
      end: 6,
      update: 3,
      stop: 2,
      delete: 2,
      lose: 1,
      return: 2,
      idle: 1,
    }),
    at: fc.nat(sessions.length - 1),
  }),
  // Without the size, most have fewer than ten steps, which rarely reach an end.
  { maxLength: 40, size: "max" },
);
type Step = typeof steps extends fc.Arbitrary<(infer T)[]> ? T : never;

const approval = {
  kind: "approval",
  content: "Continue?",
  title: "Continue?",
  options: [{ id: "yes", label: "Yes", effect: "allow" }],
} as const;

/** A message that was sent, as its sender and the application see it. */
interface Sent {
  readonly id: string;
  readonly session: string;
  message: Message | undefined;
  readonly end: ReturnType<typeof gate>;
  /** How often it was handed over: again after a loss, because no application had accepted it. */
  tries: number;
  /** Answers of these tries are over, so nothing of them may be shown from now on. */
  silentTries: number;
  /** It was stopped or deleted, so it may not be handed over any more. */
  isOver: boolean;
  /** It was handed over before its session was lost, so it may be handed over again, later. */
  isReturned: boolean;
  /** A repetition is not the same message any more: its id may be forgotten. */
  isForgotten: boolean;
}

/** A message of the application on the channel. */
interface Shown {
  readonly id: string;
  readonly session: string;
  readonly isQuestion: boolean;
  /** Nothing about it may reach the channel. */
  isGone: boolean;
}

/** The store and the other node that a test needs, in memory. */
class World {
  readonly sent: Sent[] = [];
  readonly begun: string[] = [];
  readonly shown: Shown[] = [];
  readonly problems: string[] = [];
  readonly results: string[] = [];
  readonly settlements = new Map<string, number>();
  asked = 0;
  deleted: ((address: { channel: string; session: string }) => () => void) | undefined;
  listener: OwnershipListener | undefined;
  readonly lost = new Set<string>();
  readonly losses = new Map<string, number>();
  private readonly taken = new Map<string, Map<string, TakenId>>();

  takenOf(session: string): Map<string, TakenId> {
    const known = this.taken.get(session) ?? new Map<string, TakenId>();
    this.taken.set(session, known);
    return known;
  }

  of(session: string): readonly Sent[] {
    return this.sent.filter((each) => each.session === session);
  }

  /** Of a message of a deleted conversation, the store keeps only the id. */
  discard(session: string, id: string): void {
    this.takenOf(session).set(id, { id, ageMs: 0, stopped: true });
  }

  service(): Conversations {
    const ownership: SessionOwnership = {
      listen: (listener) => void (this.listener = listener),
      claim: async ({ session }) => (this.lost.has(session) ? { node: "other" } : "own"),
      pass: (_, { session, id }, outcome) => {
        const known = this.takenOf(session).get(id);
        if (known?.stopped)
          return outcome.rejected(Object.assign(new Error(), { code: "stopped" }));
        if (!known) this.takenOf(session).set(id, { id, ageMs: 0 });
        outcome.accepted(known ? "duplicate" : "accepted");
      },
      stop: async () => undefined,
      questions: async () => [],
      running: async () => [],
      answer: async () => ({ status: "unknown" }),
      forget: () => undefined,
    };
    const service: Partial<Conversations> = {
      ownership,
      taken: {
        known: async ({ session }) => [...this.takenOf(session).values()],
        settle: async ({ session }, id, digest, { stopped = false } = {}) =>
          void this.takenOf(session).set(id, { id, digest, ageMs: 0, stopped }),
        discard: async ({ session }, id) => this.discard(session, id),
      },
      watchDeletions: (deleted) => void (this.deleted = deleted),
      find: async () => undefined,
    };
    return service as Conversations;
  }
}

const answerTo = (id: string, attempt: number): string => `answer to ${id}, try ${attempt}`;

const turns = async (count = 6): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate);
};

async function check(given: readonly Step[]): Promise<void> {
  const world = new World();
  const store: Plugin<{ offers: { conversations: Conversations } }> = {
    name: "conversations",
    api: 1,
    start: () => ({ conversations: world.service() }),
  };
  const sample = createSampleChannel({
    keeps: false,
    send(session, id, { content, question }) {
      if (question) world.settlements.set(id, 0);
      const isOver = world
        .of(session)
        .some(({ id: own, silentTries }) =>
          Array.from({ length: silentTries }, (_, index) => answerTo(own, index + 1)).includes(
            content,
          ),
        );
      if (isOver) world.problems.push(`"${content}" of ${session} was shown after its end`);
      world.shown.push({ id, session, isQuestion: question !== undefined, isGone: false });
      return { id, status: "written" };
    },
    update(session, id, { question }) {
      if (world.shown.some((each) => each.id === id && each.isGone))
        world.problems.push(`${id} of ${session} was updated after its end`);
      if (question?.settled) world.settlements.set(id, world.settlements.get(id)! + 1);
      return { id, status: "written" };
    },
  });
  const handler = async (message: Message): Promise<void> => {
    const own = world.of(message.session).find(({ id }) => id === message.id)!;
    const { id, session } = own;
    if (own.isOver) world.problems.push(`${id} of ${session} began after its end`);
    if (own.tries > (world.losses.get(session) ?? 0))
      world.problems.push(`${id} of ${session} began twice`);
    if (!own.isReturned) world.begun.push(`${sessions.indexOf(session)} ${id}`);
    own.tries += 1;
    own.message = message;
    const content = answerTo(id, own.tries);
    await own.end.opened;
    await message.reply({ content }).catch(() => undefined);
  };

  await withKernel([store, channels(), sample.plugin, application(handler)], async (visit) => {
    const { kernel, clock } = visit;
    const calls = kernel.services.channels;
    const hand = ({ session, id }: Sent): void =>
      sample
        .inlet()
        .hand(
          sample.message({ session, id, content: id }),
          { accepted: () => undefined, rejected: () => undefined },
          { dedupe: true },
        );
    /** Nothing of the messages so far may be shown any more. */
    const silence = (session: string): void => {
      for (const each of world.of(session)) each.silentTries = each.tries;
    };
    const finish = (session: string): void => {
      silence(session);
      for (const each of world.of(session)) each.isOver = true;
    };
    const acts: Readonly<Record<Step["act"], (session: string) => Promise<unknown> | void>> = {
      message(session) {
        const id = `m${world.of(session).length}`;
        const flags = { isOver: false, isForgotten: false, isReturned: false };
        const sent: Sent = {
          id,
          session,
          message: undefined,
          end: gate(),
          tries: 0,
          silentTries: 0,
          ...flags,
        };
        world.sent.push(sent);
        hand(sent);
      },
      repeat(session) {
        for (const each of world.of(session).slice(-3)) if (!each.isForgotten) hand(each);
      },
      ask(session) {
        const open = world.of(session).findLast(({ message }) => message !== undefined);
        const asking = open?.message?.ask(approval);
        if (!asking) return;
        world.asked += 1;
        asking.then(
          ({ outcome }) => world.results.push(outcome),
          () => (world.asked -= 1),
        );
      },
      async answer(session) {
        const [question] = calls.questions({ channel, session });
        if (!question) return;
        const to = { channel, session };
        const answers = [1, 2].map(() =>
          calls.answer(to, question.id, { option: "yes" }, undefined, "host"),
        );
        const settled = (await Promise.all(answers)).filter(({ status }) => status === "settled");
        if (settled.length > 1) world.problems.push(`${question.id} was answered twice`);
      },
      end(session) {
        const open = world.of(session).findLast(({ message }) => message !== undefined);
        open?.end.open();
      },
      async update(session) {
        const last = world.shown.findLast((each) => each.session === session && !each.isQuestion);
        if (last) await calls.update({ channel, session }, last.id, { content: "changed" });
      },
      async stop(session) {
        await sample.inlet().stop(session);
        await turns();
        finish(session);
      },
      async delete(session) {
        const open = calls.questions({ channel, session }).length;
        const before = world.results.length;
        const release = world.deleted!({ channel, session });
        finish(session);
        for (const id of world.takenOf(session).keys()) world.discard(session, id);
        for (const each of world.shown) if (each.session === session) each.isGone = true;
        if (calls.questions({ channel, session }).length > 0)
          world.problems.push("a question outlived its conversation");
        await turns(1);
        const withdrawn = world.results.slice(before).filter((each) => each === "withdrawn");
        if (withdrawn.length < open) world.problems.push("a question was not withdrawn");
        release();
      },
      lose(session) {
        if (world.lost.has(session)) return;
        world.lost.add(session);
        world.losses.set(session, (world.losses.get(session) ?? 0) + 1);
        world.listener!.lost({ channel, session });
        silence(session);
        for (const each of world.of(session)) each.isForgotten = each.isReturned = true;
        for (const each of world.shown)
          if (each.session === session && each.isQuestion) each.isGone = true;
        if (calls.questions({ channel, session }).length > 0)
          world.problems.push("a question outlived the loss of its session");
      },
      return(session) {
        if (world.lost.delete(session)) world.listener!.taken({ channel, session });
      },
      idle() {
        clock.increment(idleMs);
        for (const each of world.sent) each.isForgotten = true;
      },
    };
    for (const { act, at } of given) {
      await acts[act](sessions[at]!);
      await turns(2);
    }
    for (const { end } of world.sent) end.open();
    await turns(10);
  });

  expect(world.problems).toEqual([]);
  // The messages of a session keep their order, apart from those handed over again.
  for (const [index] of sessions.entries()) {
    const own = world.begun.filter((entry) => entry.startsWith(`${index} `));
    const numbers = own.map((entry) => Number(entry.split("m")[1]));
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
  }
  // Each question is settled once, for its application and on its channel.
  expect(world.results.length).toBe(world.asked);
  expect([...world.settlements.values()].filter((count) => count > 1)).toEqual([]);
}

test("keeps its promises for any order of events", () =>
  fc.assert(
    fc.asyncProperty(steps, (given) => check(given)),
    { numRuns: runs(600) },
  ));
