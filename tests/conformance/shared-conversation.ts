/**
 * Two devices, a page of the dashboard, posted messages and a program take part in one conversation,
 * while connections are cut and servers restart. All must see the same messages in the same order.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { Awaitable } from "../../kernel/index.ts";
import { sqlite } from "../../plugins/conversations/index.ts";
import { redis } from "../../plugins/redis/index.ts";
import { token, waitFor } from "../support/pico-server-harness.ts";
import { redisSecret } from "../support/redis-nodes.ts";
import { hasRedis, startRedis, type RedisServer } from "../support/redis-server.ts";
import {
  agent,
  Device,
  outline,
  startServer,
  type Seen,
  type SharedServer,
  type SharedStore,
} from "../support/shared-conversation.ts";
import { Page } from "../support/shared-page.ts";
import { createFolder } from "../support/sqlite-store.ts";

/** Reads the whole history in pages of this size, as a page does that scrolls up. */
async function readPages(device: Device, limit: number): Promise<Seen[]> {
  const turns: Seen[] = [];
  for (let before: string | undefined; ;) {
    const page = await device.history({ limit, ...(before !== undefined && { before }) });
    assert(page.items.length <= limit);
    turns.unshift(...page.items);
    before = page.before;
    if (before === undefined) return turns;
  }
}

const session = "shared";

class World {
  readonly devices: readonly [Device, Device];
  private readonly page = new Page(session);
  private readonly file: string;
  private readonly store: SharedStore | undefined;
  /** One node, or one for each device. */
  private readonly servers: SharedServer[];
  private count = 0;
  private readonly posts: Promise<unknown>[] = [];

  private constructor(
    file: string,
    store: SharedStore | undefined,
    servers: readonly SharedServer[],
  ) {
    this.file = file;
    this.store = store;
    this.servers = [...servers];
    this.devices = [
      new Device(servers[0]!.port, session),
      new Device(servers.at(-1)!.port, session),
    ];
  }

  static async open(file: string, { store, nodes = 1 }: StoreForm): Promise<World> {
    const servers: SharedServer[] = [];
    while (servers.length < nodes) servers.push(await startServer(file, 0, store));
    const world = new World(file, store, servers);
    await waitFor(() => world.devices.every(({ isOpen }) => isOpen));
    return world;
  }

  async run({ what, who, kind, limit }: Step): Promise<void> {
    const device = this.devices[who]!;
    const id = `${what}-${(this.count += 1)}`;
    if (what === "send") device.send(id, `${kind} ${id}`);
    if (what === "post") this.post(who, id, `${kind} ${id}`);
    if (what === "stop") device.stopLatest();
    if (what === "cut") device.cut();
    if (what === "retry") device.retry();
    if (what === "turn") await device.history({ limit: 1 }).catch(() => undefined);
    if (what === "page") await this.readWhileOthersWrite(device, limit);
    if (what === "list" && this.store) await this.readOnPage(who, limit);
    if (what === "title" && this.store) await this.page.rename(this.serverOf(who).dashboard, id);
    if (what === "restart" && this.store) await this.restart(who);
  }

  /** Waits until everything that was sent has an outcome, and compares all views. */
  async check(limit: number): Promise<void> {
    await this.settle();
    const [first, second] = this.devices;
    const marks = this.devices.map((device, at) => {
      const id = `last-${at}`;
      device.send(id, `plain ${id}`);
      return `answer to plain ${id}`;
    });
    await this.settle();
    const hasAll = ({ view }: Device): boolean => {
      const texts = new Set(view.read().map(({ content }) => content));
      return marks.every((mark) => texts.has(mark));
    };
    await waitFor(() => hasAll(first) && hasAll(second));
    await waitFor(() => first.view.read().length === second.view.read().length);
    assert.deepEqual(
      outline(first.view.read(), second.view.read()),
      outline(second.view.read(), first.view.read()),
    );
    for (const [device, other] of [
      [first, second],
      [second, first],
    ] as const) {
      assert.deepEqual(device.gaps, []);
      assert.deepEqual(device.unknownOutcomes(), []);
      assert.deepEqual(device.wrongIn(other.view.read()), []);
    }
    if (!this.store) return;
    const turns = await readPages(second, limit);
    for (const { view } of this.devices)
      assert.deepEqual(outline(turns, view.read()), outline(view.read(), turns));
    for (const { dashboard } of this.servers) {
      const shown = await this.page.read(dashboard, limit);
      assert.deepEqual(outline(shown, turns), outline(turns, shown));
      await this.page.check(dashboard, shown);
    }
  }

  async close(): Promise<void> {
    for (const device of this.devices) device.end();
    await Promise.all(this.posts);
    for (const server of this.servers) await server.stop();
  }

  private serverOf(who: number): SharedServer {
    return this.servers[who % this.servers.length]!;
  }

  private async settle(): Promise<void> {
    await Promise.all(this.posts);
    await waitFor(() => {
      for (const device of this.devices) device.retry();
      return this.devices.every(({ isOpen, waiting }) => isOpen && waiting === 0);
    });
  }

  private post(who: number, id: string, content: string): void {
    const { port } = this.serverOf(who);
    const posted = fetch(`http://127.0.0.1:${port}/pico/messages?session_id=${session}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
      body: JSON.stringify({ id, session_id: session, payload: { content } }),
    });
    this.posts.push(posted.then((response) => response.text()).catch(() => undefined));
  }

  private async readWhileOthersWrite(device: Device, limit: number): Promise<void> {
    const turns = await readPages(device, limit);
    assertOrder(turns);
  }

  private async readOnPage(who: number, limit: number): Promise<void> {
    assertOrder(await this.page.read(this.serverOf(who).dashboard, limit));
  }

  private async restart(who: number): Promise<void> {
    for (const device of this.devices) device.noteRestart();
    const { port, stop } = this.serverOf(who);
    await stop();
    this.servers[who % this.servers.length] = await startServer(this.file, port, this.store);
  }
}

function assertOrder(turns: readonly { readonly seq: number }[]): void {
  const numbers = turns.map(({ seq }) => seq);
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].toSorted((a, b) => a - b),
  );
}

interface Step {
  readonly what: string;
  readonly who: number;
  readonly kind: string;
  readonly limit: number;
}

const names = [
  "post",
  "stop",
  "stop",
  "cut",
  "retry",
  "turn",
  "turn",
  "page",
  "list",
  "title",
  "restart",
];
const step = fc.record<Step>({
  what: fc.oneof(
    { weight: 3, arbitrary: fc.constant("send") },
    { weight: 4, arbitrary: fc.constantFrom(...names) },
  ),
  who: fc.nat(1),
  kind: fc.constantFrom("plain", "later", "grow", "both"),
  limit: fc.integer({ min: 1, max: 6 }),
});

interface StoreForm {
  /** The way to open the store again after a restart. Undefined: it ends with the process. */
  readonly store?: SharedStore;
  /** How many servers share the store. */
  readonly nodes?: 1 | 2;
}

type CreateStore = () => Awaitable<StoreForm>;

function sharedConversation(createStore: CreateStore, numRuns: number): void {
  test("shows all participants the same messages in one order", { timeout: 600_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "doorward-shared-"));
    const file = join(folder, "agent.cjs");
    await writeFile(file, agent);
    const schedule = fc.array(step, { minLength: 4, maxLength: 20 });
    const check = async (steps: readonly Step[], limit: number): Promise<void> => {
      const world = await World.open(file, await createStore());
      try {
        for (const one of steps) await world.run(one);
        await world.check(limit);
      } finally {
        await world.close();
      }
    };
    try {
      await fc.assert(fc.asyncProperty(schedule, fc.integer({ min: 1, max: 7 }), check), {
        numRuns,
        endOnFailure: true,
      });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}

/** Defines the tests that all participants see one conversation, for this many schedules. */
export function sharedConversations(numRuns: number): void {
  describe("conversation in memory", () => sharedConversation(() => ({}), numRuns));

  describe("conversation in a file", () =>
    sharedConversation(
      () => ({ store: sqlite({ path: join(createFolder(), "conversations.db") }) }),
      numRuns,
    ));

  describe.skipIf(!hasRedis)("conversation of two nodes in Redis", () => {
    let server: RedisServer;
    beforeAll(async () => {
      server = await startRedis(["--appendonly", "yes"]);
    });
    afterAll(() => server.stop());

    sharedConversation(
      () => ({
        store: redis({ url: server.url, secret: redisSecret, prefix: randomUUID() }),
        nodes: 2,
      }),
      numRuns,
    );
  });
}
