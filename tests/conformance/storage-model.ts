// Compares the SQLite store with a simple model. The long suite runs more histories.
import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import {
  abandon,
  createFolder,
  entry,
  openStore,
  StoppedTime,
  write,
  type TestEntry,
} from "../support/sqlite-store.ts";
import { hitName, StoreModel } from "../support/store-model.ts";

const words = ["alpha", "beta", "gamma", "Delta", "épsilon"];
const text = fc.array(fc.constantFrom(...words), { maxLength: 4 }).map((list) => list.join(" "));

/** Ids of messages are unique: `message` chooses an existing one of the session, if any. */
const piece = fc.record({
  session: fc.constantFrom("s", "t", "u"),
  kind: fc.constantFrom("user", "create", "create", "update", "update", "delete", "other"),
  message: fc.nat(5),
  content: text,
  final: fc.boolean(),
});
type Piece = typeof piece extends fc.Arbitrary<infer T> ? T : never;

const command = fc.oneof(
  { weight: 6, arbitrary: fc.array(piece, { maxLength: 12 }) },
  {
    weight: 3,
    arbitrary: fc.constantFrom("forget s", "forget t", "index", "reopen", "kill", "rename t"),
  },
);

/** Reads all pages, newest first. */
function pagesOf<T>(read: (before?: string) => { items: readonly T[]; before?: string }): T[][] {
  const pages: T[][] = [];
  for (let before: string | undefined; ;) {
    const page = read(before);
    pages.push([...page.items]);
    before = page.before;
    if (before === undefined) return pages;
  }
}

class World {
  readonly model = new StoreModel();
  private readonly folder = createFolder();
  private readonly clock = new StoppedTime(5_000);
  private store!: Awaited<ReturnType<typeof openStore>>;
  /** Ids of the messages of each session that were not deleted. */
  private readonly messages = new Map<string, string[]>();
  private count = 0;

  async open(): Promise<void> {
    const { folder, clock } = this;
    this.store = await openStore({ folder, clock });
  }

  async run(step: string | readonly Piece[]): Promise<void> {
    if (typeof step !== "string") return this.append(step);
    const [name, session = ""] = step.split(" ");
    const { store, model, clock } = this;
    if (name === "index") while (store.isBusy()) await clock.pass(250);
    if (name === "reopen") {
      await store.end();
      await this.open();
    }
    if (name === "kill") {
      await abandon(store);
      await this.open();
    }
    const found = this.store.history.find({ channel: "pico", session });
    if (!found) return;
    if (name === "rename") {
      await this.store.rename(found.id, "Chosen");
      model.rename(session, "Chosen");
    }
    if (name === "forget") {
      await this.store.forget(found.id, () => {});
      model.forget(session);
      this.messages.delete(session);
    }
  }

  /** Compares all that readers can see, page by page. */
  async check(limit: number): Promise<void> {
    const { store, model, clock } = this;
    const { history } = store;
    const pages = pagesOf((before) => history.list({ limit: 2, ...(before && { before }) }));
    const found = pages.flat();
    const shown = found.map(({ id: _, channel: __, ...summary }) => summary);
    assert.deepEqual(shown, model.list());
    assert.deepEqual(store.health().conversations, found.length);
    for (const { id, session } of found) {
      const turns = model.turns(session);
      const read = pagesOf((before) => history.read(id, { limit, ...(before && { before }) }));
      assert.deepEqual(read.toReversed().flat(), turns);
      const later = turns.filter(({ seq }) => seq > 2).slice(0, limit);
      assert.deepEqual(history.read(id, { after: ":2", limit }).items, later);
      const { frames } = store.load({ channel: "pico", session })!;
      const texts = frames.map(({ seq, frame }) => [seq, new TextDecoder().decode(frame)]);
      assert.deepEqual(texts, model.frames(session));
    }
    while (store.isBusy()) await clock.pass(250);
    for (const query of ["alpha", "DELTA", "alpha beta"]) {
      const hits = history.search(query, { limit: 100 });
      const names = hits.map(({ conversation: { session }, turn }) => hitName({ session, turn }));
      assert.deepEqual(names.toSorted(), model.search(query));
    }
    await store.end();
  }

  private async append(pieces: readonly Piece[]): Promise<void> {
    await this.clock.pass(1);
    const entries = pieces.map((one) => this.toEntry(one));
    for (const one of entries) this.model.append(one);
    await write(this.store, ...entries);
  }

  private toEntry({ session, kind, message, content, final }: Piece): TestEntry {
    const at = this.clock.now();
    const known = this.messages.get(session) ?? [];
    this.messages.set(session, known);
    const id = known[message % Math.max(1, known.length)];
    if (kind === "user" || kind === "other")
      return {
        ...entry(kind, `u${(this.count += 1)}`, content, { session, at }),
        message: undefined,
      };
    if (kind === "create" || id === undefined) {
      const created = `m${(this.count += 1)}`;
      known.push(created);
      return entry("create", created, content, { session, at, final });
    }
    if (kind === "update") return entry("update", id, content, { session, at, final });
    known.splice(known.indexOf(id), 1);
    return entry("delete", id, "", { session, at });
  }
}

/** Defines the test that the SQLite store behaves as the model for this many histories. */
export function storageModelConformance(numRuns: number): void {
  test("behaves as the model for every history", { timeout: 120_000 }, async () => {
    const scenario = fc.array(command, { minLength: 1, maxLength: 12 });
    const check = async (steps: readonly (string | Piece[])[], limit: number) => {
      const world = new World();
      await world.open();
      for (const step of steps) await world.run(step);
      await world.check(limit);
    };
    await fc.assert(fc.asyncProperty(scenario, fc.integer({ min: 1, max: 5 }), check), {
      numRuns,
    });
  });
}
