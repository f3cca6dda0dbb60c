// The law of questions of two nodes: each is settled once, wherever it is answered, the log has an
// answer that an application knows, and no question stays open, although nodes are killed.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { vi } from "vitest";
import type {
  AnswerResult,
  Message,
  QuestionInput,
  QuestionResult,
  QuestionSettlement,
} from "../../plugins/channels/index.ts";
import type { RedisConversations } from "../../plugins/redis/conversations.ts";
import { createFastClock } from "../support/fast-clock.ts";
import { startChannelNode, type ChannelNode } from "../support/redis-channel-server.ts";
import { openRedisNode, type RedisNode } from "../support/redis-nodes.ts";
import type { RedisServer } from "../support/redis-server.ts";
import { weighted } from "../support/runs.ts";

const channel = "pico";
const sessions = ["a", "b"] as const;
const optionIds = ["yes", "no", "wrong"] as const;
/** A node is gone after half a second. */
const speed = 10;
const patience = { timeout: 15_000, interval: 20 };

const weights = { message: 5, ask: 2, answer: 9, dismiss: 1, stop: 1, kill: 2, wait: 6 };

interface Step {
  readonly what: keyof typeof weights;
  readonly node: number;
  readonly at: number;
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({ what: weighted(weights), node: fc.nat(1), at: fc.nat(11) }),
  { minLength: 6, maxLength: 40 },
);

const question: QuestionInput = {
  kind: "approval",
  content: "Go?",
  options: [
    { id: "yes", label: "Yes", effect: "allow" },
    { id: "no", label: "No", effect: "deny" },
  ],
};
/** Frames do not tell which questions are durable. */
const durableQuestion = { ...question, content: "Go on later?", durable: "key" };

interface AskedQuestion {
  readonly id: string;
  readonly session: string;
  readonly process: NodeProcess;
}

/** The frames of a question in the log. */
interface LoggedQuestion {
  readonly isDurable: boolean;
  readonly settled: readonly QuestionSettlement[];
}

/** One process. When it is killed, nothing of it counts any more. */
class NodeProcess {
  isAlive = true;
  node!: ChannelNode;
  private readonly world: World;

  constructor(world: World) {
    this.world = world;
  }

  async start(url: string, prefix: string): Promise<void> {
    const clock = createFastClock();
    clock.setSpeed(speed);
    this.node = await startChannelNode({ url, prefix, clock, app: (message) => this.run(message) });
    this.node.kernel.on("channels:question-asked", ({ id, session }) => {
      if (this.isAlive) this.world.asked.push({ id, session, process: this });
    });
  }

  kill(): void {
    this.isAlive = false;
    (this.node.services.conversations as unknown as RedisConversations).link.close();
  }

  private async run(message: Message): Promise<void> {
    if (message.answer) return this.world.delivered(message);
    const result = await message.ask(question).catch(() => undefined);
    if (result && this.isAlive) await this.world.told(result);
  }
}

class World {
  readonly asked: AskedQuestion[] = [];
  private readonly server: RedisServer;
  private readonly prefix = randomUUID();
  private readonly processes: NodeProcess[] = [];
  private readonly killed: NodeProcess[] = [];
  private readonly results: { readonly id: string; readonly result: AnswerResult }[] = [];
  private readonly known: QuestionResult[] = [];
  /** Answers of durable questions that an application received. */
  private readonly received = new Set<string>();
  private readonly problems: unknown[] = [];
  /** The calls that answer questions, with their processes. */
  private readonly answering: { readonly process: NodeProcess; readonly given: Promise<void> }[] =
    [];
  /** Sessions whose messages were stopped, with the answers among them. */
  private readonly stopped = new Set<string>();
  private observer!: RedisNode;
  private count = 0;

  constructor(server: RedisServer) {
    this.server = server;
  }

  async open(): Promise<void> {
    const { url } = this.server;
    this.observer = await openRedisNode({ url, prefix: this.prefix });
    for (const at of [0, 1]) await this.startProcess(at);
  }

  async run({ what, node, at }: Step): Promise<void> {
    const { services, fetch } = this.processes[node]!.node;
    const session = sessions[at % 2]!;
    const id = `m${(this.count += 1)}`;
    if (what === "message")
      fetch("/pico/messages", { session_id: session, id, content: "go" }).catch(() => {});
    if (what === "ask")
      services.channels.ask({ channel, session }, durableQuestion).catch(() => {});
    if (what === "answer") this.answer(node, at, { option: optionIds[at % 3]! });
    if (what === "dismiss") this.answer(node, at, { dismiss: true });
    if (what === "stop") {
      this.stopped.add(session);
      this.stop(services, session).catch(() => {});
    }
    if (what === "kill") await this.kill(node);
    if (what === "wait") await new Promise((resolve) => setTimeout(resolve, at));
  }

  delivered({ answer }: Message): void {
    this.received.add(answer!.messageId);
  }

  /** An application knows an outcome: the log has it. */
  async told(result: QuestionResult): Promise<void> {
    this.known.push(result);
    if (result.outcome !== "answered") return;
    const logged = await this.read();
    const isLogged = [...logged.values()].some(({ settled }) =>
      settled.some(({ by, option }) => by?.id === result.by?.id && option === result.option),
    );
    if (!isLogged) this.problems.push({ result, why: "the log has no such answer" });
  }

  async check(): Promise<void> {
    await this.closeAll();
    const logged = await this.read();
    assert.deepEqual(this.problems, []);
    for (const { id } of this.asked) {
      const found = logged.get(id);
      assert.equal(found?.settled.length, 1, `${id} is settled ${found?.settled.length} times`);
      const own = this.results.filter((one) => one.id === id);
      assert(own.filter(({ result }) => result.status === "settled").length <= 1);
      for (const { result } of own)
        if (result.settled) assert.deepEqual(result.settled, found!.settled[0]);
    }
    const answered = this.known.filter(({ outcome }) => outcome === "answered");
    assert.equal(new Set(answered.map(({ by }) => by!.id)).size, answered.length);
    for (const { option, effect } of answered)
      assert.equal(effect, option === "yes" ? "allow" : "deny");
    for (const [id, { isDurable, settled }] of logged) {
      const isExpected = isDurable && ["answered", "dismissed"].includes(settled[0]!.outcome);
      if (isExpected && this.stopped.has(this.sessionOf(id))) continue;
      assert.equal(this.received.has(id), isExpected, `the answer to ${id}`);
    }
  }

  async close(): Promise<void> {
    for (const { node } of [...this.killed, ...this.processes]) await node.stop();
    await this.observer.close();
  }

  private async startProcess(at: number): Promise<void> {
    const created = new NodeProcess(this);
    await created.start(this.server.url, this.prefix);
    this.processes[at] = created;
  }

  private async kill(at: number): Promise<void> {
    const old = this.processes[at]!;
    old.kill();
    this.killed.push(old);
    await this.startProcess(at);
  }

  private answer(node: number, at: number, answer: { option?: string; dismiss?: true }): void {
    const { asked } = this;
    const one = asked.at(-1 - (at % Math.max(1, asked.length)));
    const process = this.processes[node]!;
    if (!one) return;
    const { id, session } = one;
    const by = { id: `person ${(this.count += 1)}` };
    const { channels } = process.node.services;
    const given = channels.answer({ channel, session }, id, answer, by, "pico").then(
      (result) => void (process.isAlive && this.results.push({ id, result })),
      () => undefined,
    );
    this.answering.push({ process, given });
  }

  private sessionOf(id: string): string {
    return this.asked.find((one) => one.id === id)?.session ?? "";
  }

  /** No person answers: the other node closes the questions of a killed one, except durable ones. */
  private async awaitLost(): Promise<void> {
    const isAlive = (id: string): boolean =>
      this.asked.some((one) => one.id === id && one.process.isAlive);
    const poll = async () =>
      (await this.observer.conversations.questions.list()).filter(
        ({ id, question: { state, durable } }) =>
          state === "open" && durable === undefined && !isAlive(id),
      );
    await vi.waitFor(async () => assert.deepEqual(await poll(), []), patience);
  }

  /** Dismisses questions until none is open anywhere, and every answer is delivered. */
  private async closeAll(): Promise<void> {
    const open = this.answering.filter(({ process }) => process.isAlive);
    await Promise.all(open.map(({ given }) => given));
    await this.kill(0);
    await this.awaitLost();
    const { channels } = this.processes[0]!.node.services;
    let quiet = 0;
    const poll = async (): Promise<number> => {
      const left = await this.observer.conversations.questions.list();
      for (const { session, id, question: stored } of left) {
        if (stored.state !== "open") continue;
        const given = channels.answer(
          { channel, session },
          id,
          { dismiss: true },
          { id: "end" },
          "pico",
        );
        await given.catch(() => undefined);
      }
      quiet = left.length === 0 ? quiet + 1 : 0;
      return quiet;
    };
    // A queued message, or one that is handed over again shortly, may ask once more.
    await vi.waitFor(async () => assert((await poll()) > 5), patience);
  }

  private async stop({ channels }: ChannelNode["services"], session: string): Promise<void> {
    await channels.stop({ channel, session });
  }

  /** Reads the questions of the log, with all their settlements. */
  private async read(): Promise<ReadonlyMap<string, LoggedQuestion>> {
    const { log } = this.observer;
    const found = new Map<string, { isDurable: boolean; settled: QuestionSettlement[] }>();
    for (const session of sessions) {
      const top = await log.top(session);
      if (!top) continue;
      const { frames } = await log.readAfter(session, { ...top, seq: 0 });
      for (const frame of frames) {
        const { payload } = JSON.parse(Buffer.from(frame).toString()) as {
          readonly payload: {
            readonly message_id: string;
            readonly content: string;
            readonly question?: {
              readonly settled?: QuestionSettlement;
            };
          };
        };
        const { message_id: id, content, question: stored } = payload;
        if (!stored) continue;
        const before = found.get(id) ?? {
          isDurable: content.startsWith(durableQuestion.content),
          settled: [],
        };
        if (stored.settled) before.settled.push(stored.settled);
        found.set(id, before);
      }
    }
    return found;
  }
}

/** Checks random schedules of two nodes over a Redis server. */
export const checkQuestionNodesLaw = (server: RedisServer, numRuns: number): Promise<void> =>
  fc.assert(
    fc.asyncProperty(steps, async (schedule) => {
      const world = new World(server);
      try {
        await world.open();
        for (const step of schedule) await world.run(step);
        await world.check();
      } finally {
        await world.close();
      }
    }),
    // Each run takes more than a second, so a failure is not made smaller.
    { numRuns, endOnFailure: true },
  );
