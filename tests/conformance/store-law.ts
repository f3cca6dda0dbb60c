// The law of the store: acknowledged messages exist once, in order, under the same epoch, and
// forgotten ones do not, after any events of the process, the clock, the disk and the file.
import assert from "node:assert/strict";
import { copyFileSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { codeOf } from "../../kernel/index.ts";
import { Connection, loadDriver } from "../../plugins/conversations/sqlite/driver.ts";
import { fileIn } from "../support/sqlite-conversations.ts";
import {
  abandon,
  createFolder,
  Disk,
  entry,
  openStore,
  StoppedTime,
  type TestEntry,
} from "../support/sqlite-store.ts";

const minute = 60_000;
const day = 1_440 * minute;
/** SQLite: the disk is full. */
const full = 13;

/** A turn that was acknowledged. */
interface KnownTurn {
  readonly message: string;
  /** Absent while the message grows. */
  text: string | undefined;
  /** For the message of a person, when its complete answer was stored, in time of running. */
  answeredAt?: number;
}

interface KnownSession {
  epoch: string;
  seq: number;
  readonly turns: KnownTurn[];
  name: string;
  /** All texts that were ever said there. */
  readonly texts: string[];
}

interface Known {
  sessions: Map<string, KnownSession>;
  forgotten: string[];
}

interface Backup {
  readonly path: string;
  readonly known: Known;
}

export interface StoreStep {
  readonly what: string;
  readonly session: string;
  readonly size: number;
}

const weights = {
  message: 8,
  answer: 6,
  begin: 3,
  grow: 3,
  stop: 2,
  edit: 2,
  forget: 2,
  rename: 1,
  search: 1,
  idle: 4,
  restart: 1,
  kill: 2,
  jump: 2,
  suspend: 1,
  full: 1,
  room: 2,
  backup: 1,
  restore: 1,
};

export const storeSteps: fc.Arbitrary<StoreStep[]> = fc.array(
  fc.record({
    what: fc.oneof(
      ...Object.entries(weights).map(([what, weight]) => ({
        weight,
        arbitrary: fc.constant(what),
      })),
    ),
    session: fc.constantFrom("a", "b", "c"),
    size: fc.integer({ min: 1, max: 30 }),
  }),
  { minLength: 5, maxLength: 40 },
);

type Store = Awaited<ReturnType<typeof openStore>>;

class World {
  private readonly folder = createFolder();
  private readonly clock = new StoppedTime();
  private readonly disk = new Disk();
  private readonly backups: Backup[] = [];
  private known: Known = { sessions: new Map(), forgotten: [] };
  private store!: Store;
  private count = 0;

  async open(): Promise<void> {
    this.disk.code = undefined;
    const { folder, clock, disk } = this;
    this.store = await openStore({ folder, clock, driver: disk.driver, boot: "b" });
  }

  async run({ what, session, size }: StoreStep): Promise<void> {
    const { clock, disk } = this;
    const { turns = [] } = this.known.sessions.get(session) ?? {};
    const open = turns.find(({ text }) => text === undefined);
    const last = turns.findLast(({ text, message }) => text !== undefined && message[0] === "m");
    if (what === "message") await this.say(session, size);
    if (what === "answer") await this.answer(session, size);
    if (what === "begin" && !open) await this.begin(session);
    if (what === "grow" && open) this.grow(session, open, size);
    if (what === "stop" && open) await this.change(session, open, size);
    if (what === "edit" && last) await this.change(session, last, size);
    if (what === "forget") await this.forget(session);
    if (what === "rename") await this.rename(session);
    if (what === "search") this.store.history.search("text");
    if (what === "idle") await this.idle(size);
    if (what === "restart") await this.restart(() => this.store.end());
    if (what === "kill") await this.restart(() => abandon(this.store));
    if (what === "jump") clock.offset += (size % 2 === 0 ? 1 : -1) * size * 20 * day;
    if (what === "suspend") clock.suspend(size * day);
    if (what === "full") disk.code = full;
    if (what === "room") disk.code = undefined;
    if (what === "backup") this.backUp();
    if (what === "restore") await this.restore(size);
  }

  /** Compares everything that readers can see with what was acknowledged. */
  async check(): Promise<void> {
    this.disk.code = undefined;
    await this.restart(() => this.store.end());
    const { store, clock, known } = this;
    while (store.isBusy()) await clock.pass(250);
    const listed = store.history.list({ limit: 200 }).items;
    assert.deepEqual(
      listed.map(({ session }) => session).toSorted(),
      [...known.sessions.keys()].toSorted(),
    );
    assert.equal(store.health().conversations, listed.length);
    for (const { id, session, title } of listed) this.checkSession(session, id, title);
    for (const text of known.forgotten) assert.deepEqual(store.history.search(text), [], text);
    await store.end();
    this.checkFile();
  }

  private checkSession(session: string, id: string, title: string): void {
    const { store } = this;
    const { epoch, seq, turns, name } = this.known.sessions.get(session)!;
    const found = store.load({ channel: "pico", session })!;
    assert.deepEqual([found.epoch, found.seq], [epoch, seq]);
    if (name !== "") assert.equal(title, name);
    const { items } = store.history.read(id, { limit: 200 });
    assert.deepEqual(
      items.map((turn) => (turn.complete === false ? undefined : turn.content)),
      turns.map(({ text }) => text),
    );
    const taken = store.knownIds({ channel: "pico", session }).map((one) => one.id);
    for (const { message, text, answeredAt = -Infinity } of turns) {
      const age = this.clock.monotonic() - answeredAt;
      if (age < 10 * minute) assert(taken.includes(message), `${message} is not taken`);
      if (text === undefined) continue;
      const hits = store.history.search(text).map(({ turn }) => turn.content);
      assert.deepEqual(hits, [text]);
    }
  }

  private checkFile(): void {
    const connection = new Connection(loadDriver()!, fileIn(this.folder));
    const integrity = connection.all("PRAGMA integrity_check").map((row) => ({ ...row }));
    assert.deepEqual(integrity, [{ integrity_check: "ok" }]);
    connection.exec("INSERT INTO words(words) VALUES ('integrity-check')");
    connection.close();
  }

  /** Appends an entry. @returns True if it was acknowledged. */
  private async append(one: TestEntry): Promise<boolean> {
    const { sessions } = this.known;
    const next = (this.count += 1).toString(16).padStart(16, "0");
    const known = sessions.get(one.session);
    const result = await new Promise<unknown>((resolve) =>
      this.store.append(one, known?.epoch ?? next, one, resolve),
    );
    const text = textIn(one);
    known?.texts.push(text);
    if (result !== undefined) {
      assert.equal(codeOf(result), "store_unavailable");
      assert.equal(this.disk.code, full);
      return false;
    }
    if (known) known.seq += 1;
    else sessions.set(one.session, { epoch: next, seq: 1, turns: [], name: "", texts: [text] });
    return true;
  }

  private newText(size: number): string {
    return `text${(this.count += 1)}q ${"word ".repeat(size)}`.trim();
  }

  private async say(session: string, size: number): Promise<void> {
    const text = this.newText(size);
    const message = `q${this.count}`;
    const one = entry("user", message, text, { session, request: message });
    if (await this.append(one)) this.known.sessions.get(session)!.turns.push({ message, text });
  }

  private async answer(session: string, size: number): Promise<void> {
    const { turns = [] } = this.known.sessions.get(session) ?? {};
    const question = turns.findLast(({ message }) => message.startsWith("q"));
    const text = this.newText(size);
    const message = `m${this.count}`;
    const answers = question?.message;
    const one = entry("create", message, text, { session, answers });
    if (!(await this.append(one))) return;
    this.known.sessions.get(session)!.turns.push({ message, text });
    if (question) question.answeredAt ??= this.clock.monotonic();
  }

  private async begin(session: string): Promise<void> {
    const message = `m${(this.count += 1)}`;
    const one = entry("create", message, "", { session, final: false });
    if (await this.append(one))
      this.known.sessions.get(session)!.turns.push({ message, text: undefined });
  }

  private grow(session: string, { message }: KnownTurn, size: number): void {
    const text = this.newText(size);
    this.known.sessions.get(session)!.texts.push(text);
    const { frame } = entry("update", message, text, { session, final: false });
    this.store.load({ channel: "pico", session });
    this.store.grow({ channel: "pico", session }, message, () => frame);
  }

  private async change(session: string, turn: KnownTurn, size: number): Promise<void> {
    const text = this.newText(size);
    if (await this.append(entry("update", turn.message, text, { session }))) turn.text = text;
  }

  private async forget(session: string): Promise<void> {
    const found = this.store.history.find({ channel: "pico", session });
    if (!found) return;
    const { sessions, forgotten } = this.known;
    try {
      await this.store.forget(found.id, () => {});
    } catch (error) {
      assert.equal(codeOf(error), "store_unavailable");
      assert.equal(this.disk.code, full);
      return;
    }
    const { texts } = sessions.get(session)!;
    sessions.delete(session);
    forgotten.push(...texts.filter((text) => text !== ""));
    const names = readdirSync(this.folder).filter((name) => name.startsWith("conversations.db"));
    const bytes = Buffer.concat(names.map((name) => readFileSync(join(this.folder, name))));
    for (const text of forgotten) assert(!bytes.includes(text.split(" ")[0]!), `${text} is there`);
    // Reading a file here has ended the locks of SQLite, so the store begins again.
    await this.restart(() => abandon(this.store));
  }

  private async rename(session: string): Promise<void> {
    const found = this.store.history.find({ channel: "pico", session });
    if (!found) return;
    const name = `Name ${(this.count += 1)}`;
    try {
      await this.store.rename(found.id, name);
      this.known.sessions.get(session)!.name = name;
    } catch (error) {
      assert.equal(codeOf(error), "store_unavailable");
      assert.equal(this.disk.code, full);
    }
  }

  private async idle(minutes: number): Promise<void> {
    await this.clock.pass(minutes * minute);
    if (this.disk.code !== undefined) return;
    // No clock makes a conversation old within hours.
    const deleted = await this.store.retain({ keepDays: 90, maxBytes: 1e9 }, () => false);
    assert.equal(deleted, 0);
  }

  private async restart(end: () => Promise<void>): Promise<void> {
    await end();
    await this.open();
  }

  private backUp(): void {
    const path = join(createFolder(), "backup.db");
    const connection = new Connection(loadDriver()!, fileIn(this.folder));
    connection.exec(`VACUUM INTO '${path}'`);
    connection.close();
    this.backups.push({ path, known: structuredClone(this.known) });
  }

  private async restore(size: number): Promise<void> {
    const backup = this.backups[size % Math.max(1, this.backups.length)];
    if (!backup) return;
    await this.store.end();
    for (const suffix of ["", "-wal", "-shm"])
      rmSync(fileIn(this.folder) + suffix, { force: true });
    copyFileSync(backup.path, fileIn(this.folder));
    await this.open();
    this.known = structuredClone(backup.known);
    for (const [session, known] of this.known.sessions) {
      const { epoch } = this.store.load({ channel: "pico", session })!;
      assert.notEqual(epoch, known.epoch);
      known.epoch = epoch;
    }
  }
}

const textIn = ({ frame }: TestEntry): string =>
  (JSON.parse(new TextDecoder().decode(frame)) as { payload: { content: string } }).payload.content;

/** Checks the law for this many histories. */
export async function checkStoreLaw(numRuns: number): Promise<void> {
  const check = async (steps: readonly StoreStep[]): Promise<void> => {
    const world = new World();
    await world.open();
    for (const step of steps) await world.run(step);
    await world.check();
  };
  await fc.assert(fc.asyncProperty(storeSteps, check), { numRuns });
}
