// The law of the SQLite store: its promises hold through restarts, kills, wrong clocks, suspension, full
// disks, backups and copies that are put back.
import assert from "node:assert/strict";
import { copyFileSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../../kernel/index.ts";
import { Connection, loadDriver } from "../../plugins/conversations/sqlite/driver.ts";
import { fileIn } from "../support/sqlite-conversations.ts";
import { abandon, createFolder, Disk, openStore, type TestEntry } from "../support/sqlite-store.ts";
import { StoppedWorld, type Known, type StoreLaw, type StoreStep } from "./store-law.ts";

const minute = 60_000;
/** SQLite: the disk is full. */
const full = 13;

interface Backup {
  readonly path: string;
  readonly known: Known;
}

type Store = Awaited<ReturnType<typeof openStore>>;

class SqliteWorld extends StoppedWorld {
  private readonly folder = createFolder();
  private readonly disk = new Disk();
  private readonly backups: Backup[] = [];
  private opened!: Store;

  async open(): Promise<void> {
    this.disk.code = undefined;
    const { folder, clock, disk } = this;
    this.opened = await openStore({ folder, clock, driver: disk.driver, boot: "b" });
  }

  protected override async special(step: StoreStep): Promise<void> {
    const { what, session, size } = step;
    await super.special(step);
    const { disk } = this;
    if (what === "forget") await this.forget(session);
    if (what === "rename") await this.rename(session);
    if (what === "search") this.opened.history.search("text");
    if (what === "idle") await this.idle(size);
    if (what === "restart") await this.restart(() => this.opened.end());
    if (what === "kill") await this.restart(() => abandon(this.opened));
    if (what === "full") disk.code = full;
    if (what === "room") disk.code = undefined;
    if (what === "backup") this.backUp();
    if (what === "restore") await this.restore(size);
  }

  async check(): Promise<void> {
    this.disk.code = undefined;
    await this.restart(() => this.opened.end());
    const { opened, clock, known } = this;
    while (opened.isBusy()) await clock.pass(250);
    const listed = opened.history.list({ limit: 200 }).items;
    assert.deepEqual(
      listed.map(({ session }) => session).toSorted(),
      [...known.sessions.keys()].toSorted(),
    );
    assert.equal(opened.health().conversations, listed.length);
    for (const { id, session, title } of listed) this.checkRow(session, id, title);
    for (const text of known.forgotten) assert.deepEqual(opened.history.search(text), [], text);
    await opened.end();
    this.checkFile();
  }

  private checkRow(session: string, id: string, title: string): void {
    const { opened } = this;
    const { turns, name } = this.known.sessions.get(session)!;
    const { epoch, seq } = opened.load({ channel: "pico", session })!;
    if (name !== "") assert.equal(title, name);
    const { items } = opened.history.read(id, { limit: 200 });
    const texts = items.map((turn) => (turn.complete === false ? undefined : turn.content));
    this.checkSession(session, { epoch, seq, texts });
    const taken = opened.knownIds({ channel: "pico", session }).map((one) => one.id);
    for (const message of this.answered(session, 10 * minute))
      assert(taken.includes(message), `${message} is not taken`);
    for (const { text } of turns) {
      if (text === undefined) continue;
      const hits = opened.history.search(text).map(({ turn }) => turn.content);
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

  protected async store(one: TestEntry, known: string | undefined): Promise<string | undefined> {
    const epoch = known ?? (this.count += 1).toString(16).padStart(16, "0");
    const result = await new Promise<unknown>((resolve) =>
      this.opened.append(one, epoch, one, resolve),
    );
    if (result === undefined) return epoch;
    assert.equal(codeOf(result), "store_unavailable");
    assert.equal(this.disk.code, full);
    return undefined;
  }

  protected async grow(session: string, message: string, frame: Uint8Array): Promise<void> {
    this.opened.load({ channel: "pico", session });
    this.opened.grow({ channel: "pico", session }, message, () => frame);
  }

  private async forget(session: string): Promise<void> {
    const found = this.opened.history.find({ channel: "pico", session });
    if (!found) return;
    const { sessions, forgotten } = this.known;
    try {
      await this.opened.forget(found.id, () => {});
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
    await this.restart(() => abandon(this.opened));
  }

  private async rename(session: string): Promise<void> {
    const found = this.opened.history.find({ channel: "pico", session });
    if (!found) return;
    const name = `Name ${(this.count += 1)}`;
    try {
      await this.opened.rename(found.id, name);
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
    const deleted = await this.opened.retain({ keepDays: 90, maxBytes: 1e9 }, () => false);
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
    await this.opened.end();
    for (const suffix of ["", "-wal", "-shm"])
      rmSync(fileIn(this.folder) + suffix, { force: true });
    copyFileSync(backup.path, fileIn(this.folder));
    await this.open();
    this.known = structuredClone(backup.known);
    for (const [session, known] of this.known.sessions) {
      const { epoch } = this.opened.load({ channel: "pico", session })!;
      assert.notEqual(epoch, known.epoch);
      known.epoch = epoch;
    }
  }
}

export const sqliteLaw: StoreLaw = {
  weights: {
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
  },
  async open() {
    const world = new SqliteWorld();
    await world.open();
    return world;
  },
};
