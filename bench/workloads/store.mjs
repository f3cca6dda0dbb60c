// Measures the SQLite store alone: batches of appends, and a large file.
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { createRequire, isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { interleave } from "../rounds.mjs";
import { median, readings } from "../report.mjs";

const folder = new URL("../../dist/plugins/conversations/sqlite/", import.meta.url);
const { openSqliteStore } = await import(new URL("index.js", folder).href);

/** @type {{ DatabaseSync: new (path: string) => { exec(sql: string): void } }} */
const { DatabaseSync } = createRequire(import.meta.url)(
  isBuiltin("node:sqlite") ? "node:sqlite" : "@photostructure/sqlite",
);

/** Measures the time of transactions up to their commit, in milliseconds, except those in which
 *  another process had the processor. A commit may also be a checkpoint, which counts in the lateness
 *  of the event loop. */
class TimedDatabase extends DatabaseSync {
  /** @type {number[]} */
  static times = [];
  #began = 0;
  #switches = 0;

  /** @override @param {string} sql */
  exec(sql) {
    const elapsed = performance.now() - this.#began;
    const switches = process.resourceUsage().involuntaryContextSwitches;
    if (sql === "COMMIT" && switches === this.#switches) TimedDatabase.times.push(elapsed);
    super.exec(sql);
    if (!sql.startsWith("BEGIN")) return;
    this.#switches = process.resourceUsage().involuntaryContextSwitches;
    this.#began = performance.now();
  }
}

const nothing = () => {};
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
const clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: (/** @type {() => void} */ run, /** @type {number} */ ms) => setTimeout(run, ms),
  clearTimeout: (/** @type {NodeJS.Timeout} */ id) => clearTimeout(id),
};
const channel = "pico";
const epoch = "0123456789abcdef";
const words = Array.from({ length: 20_000 }, (_, at) => `word${at.toString(36)}`);

/** Returns random words, of which a few are frequent. @param {number} count */
const sentence = (count) =>
  Array.from({ length: count }, () => words[Math.floor(Math.random() ** 3 * words.length)]).join(
    " ",
  );

const sentences = Array.from({ length: 5_000 }, () => sentence(50));

/** @param {string} home @param {"process" | "power"} durability */
const openStore = (home, durability) =>
  openSqliteStore({
    path: path.join(home, "conversations.db"),
    durability,
    clock,
    log,
    driver: TimedDatabase,
    random: (/** @type {number} */ bytes) => randomBytes(bytes),
  });

/** Creates entries of about 512 bytes for many sessions. @param {number} sessions */
function createWriter(sessions) {
  let at = Date.now() - 1_000_000_000;
  let id = 0;
  return (/** @type {number} */ count, pick = () => Math.floor(Math.random() * sessions)) =>
    Array.from({ length: count }, () => {
      const session = `session-${pick()}`;
      const message = `${(++id).toString(36)}-${Math.random().toString(36).slice(2, 12)}`;
      const kind = id % 2 === 0 ? "create" : "user";
      const payload = { message_id: message, content: sentences[id % sentences.length] };
      const frame = Buffer.from(
        JSON.stringify({ type: `message.${kind}`, session_id: session, timestamp: at++, payload }),
      );
      const own = kind === "create" ? message : undefined;
      return { channel, session, type: `message.${kind}`, message: own, final: true, frame };
    });
}

/** Nothing fits, so that everything is deleted. */
const limits = { keepDays: 0, maxBytes: 1 };

/** Appends entries in one batch. @param {any} store @param {any[]} entries */
const write = (store, entries) =>
  new Promise((resolve, reject) => {
    const done = (/** @type {unknown} */ error) => (error ? reject(error) : resolve(undefined));
    for (const entry of entries) store.append(entry, epoch, entry, done);
  });

/** Measures appends per second in batches. @param {"process" | "power"} durability
 *  @param {number} inFlight @param {number} seconds */
async function appends(durability, inFlight, seconds) {
  const home = await mkdtemp(path.join(tmpdir(), "doorward-store-"));
  const { store, release } = await openStore(home, durability);
  const batchOf = createWriter(1_000);
  const ready = Array.from({ length: 2_000 / inFlight + 1 }, () => batchOf(inFlight));
  try {
    let done = 0;
    const began = performance.now();
    for (const batch of ready) {
      if (performance.now() - began > seconds * 1_000) break;
      await write(store, batch);
      done += inFlight;
    }
    return done / ((performance.now() - began) / 1_000);
  } finally {
    await store.close();
    await release();
    await rm(home, { recursive: true, force: true });
  }
}

/** Returns the sorted durations of calls in milliseconds. @param {number} count
 *  @param {(at: number) => Promise<unknown>} call */
async function timesOf(count, call) {
  const found = [];
  for (let at = 0; at < count; at++) {
    const began = performance.now();
    await call(at);
    found.push(performance.now() - began);
  }
  return found.sort((a, b) => a - b);
}

/** Milliseconds by which timers are late while nothing else happens. */
const resolutionMs = 1;

/** Runs a function, and returns how late the event loop was in the meantime, in milliseconds.
 *  @template T @param {() => Promise<T>} run */
async function latenessDuring(run) {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  const result = await run();
  delay.disable();
  const late = (/** @type {number} */ ns) => Math.max(0, ns / 1e6 - resolutionMs);
  const [p99, p999] = [99, 99.9].map((share) => late(delay.percentile(share)));
  return { result, p99, p999, max: late(delay.max) };
}

/** Appends 2,000 messages a second in 100 sessions, each followed by its reply, while retention
 *  deletes other conversations. @param {number} seconds @param {number} old */
async function paced(seconds, old) {
  const home = await mkdtemp(path.join(tmpdir(), "doorward-store-"));
  const { store, release } = await openStore(home, "process");
  const batchOf = createWriter(100);
  for (let at = 0; at < old; at++)
    await write(
      store,
      createWriter(1)(20).map((entry) => ({ ...entry, session: `old-${at}` })),
    );
  const total = Math.ceil(2_000 * seconds);
  try {
    const late = await latenessDuring(async () => {
      const isLive = ({ session = "" }) => !session.startsWith("old-");
      const retained = store.retain(limits, isLive);
      const began = performance.now();
      const open = new Set([retained]);
      for (let sent = 0; sent < total;) {
        const due = Math.min(total, Math.floor((performance.now() - began) * 2));
        if (due > sent) {
          const written = write(store, batchOf((due - sent) * 2)).finally(() =>
            open.delete(written),
          );
          open.add(written);
          sent = due;
        }
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      await Promise.all(open);
    });
    return [late.p99, late.p999];
  } finally {
    await store.close();
    await release();
    await rm(home, { recursive: true, force: true });
  }
}

const p95 = (/** @type {number[]} */ sorted) => sorted[Math.floor(sorted.length * 0.95)] ?? NaN;
const resident = () => process.memoryUsage.rss() / 2 ** 20;

/** @param {number} messages @param {number} conversations */
async function measureLarge(messages, conversations) {
  const home = await mkdtemp(path.join(tmpdir(), "doorward-store-"));
  try {
    let { store, release } = await openStore(home, "process");
    const batchOf = createWriter(conversations);
    let next = 0;
    const filling = performance.now();
    for (let done = 0; done < messages; done += 1_000)
      await write(
        store,
        batchOf(1_000, () => next++ % conversations),
      );
    while (store.isBusy()) await new Promise((resolve) => setTimeout(resolve, 10));
    const seconds = (performance.now() - filling) / 1_000;
    await store.close();
    await release();
    const { size } = await stat(path.join(home, "conversations.db"));
    const opened = [];
    for (let at = 0; at < 5; at++) {
      const began = performance.now();
      ({ store, release } = await openStore(home, "process"));
      opened.push(performance.now() - began);
      if (at === 4) continue;
      await store.close();
      await release();
    }
    const before = resident();
    const lists = await timesOf(100, async () => store.history.list({ limit: 50 }));
    const titles = await timesOf(50, async (at) => store.history.list({ query: words[at * 7] }));
    const { items } = store.history.list({ limit: 200 });
    const pages = await timesOf(200, async (at) =>
      store.history.read(items[at % items.length].id, { limit: 50 }),
    );
    const loads = await timesOf(200, async (at) =>
      store.load({ channel, session: `session-${at * 7}` }),
    );
    const frequent = await timesOf(50, async (at) =>
      store.history.search(`${words[at]} ${words[at + 1]}`),
    );
    const rare = await timesOf(50, async (at) =>
      store.history.search(words[words.length - 1 - at]),
    );
    const after = resident();
    TimedDatabase.times = [];
    const deleted = await store.retain(limits, () => false);
    const steps = TimedDatabase.times.toSorted((a, b) => a - b);
    await store.close();
    await release();
    return {
      ...{ seconds, size, opened, lists, titles, pages, loads, frequent, rare, before, after },
      ...{ deleted, steps },
    };
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** @param {import("../rounds.mjs").Size} size */
export async function measureStore({ rounds, seconds, count, deadline }) {
  const kinds = /** @type {const} */ (["process", "power"]);
  const cases = kinds.flatMap((kind) => [1, 16, 64].map((n) => /** @type {const} */ ([kind, n])));
  const found = await interleave(
    rounds,
    cases.map(
      ([kind, inFlight]) =>
        () =>
          appends(kind, inFlight, seconds),
    ),
    deadline,
  );
  const rows = cases.map(([kind, inFlight], at) => ({
    what: `appends, ${kind}, ${inFlight} in a batch`,
    unit: "/s",
    values: found[at] ?? [],
  }));
  console.log(readings(rows));
  const [messages, conversations] = [count(1_000_000), count(10_000)];
  const large = await measureLarge(messages, conversations);
  const timed = [
    ["open, p95", large.opened, 50],
    ["list, 50 conversations, p95", large.lists, 50],
    ["list, filtered by title, p95", large.titles, 50],
    ["page of 50 turns, p95", large.pages, 20],
    ["state of one session, p95", large.loads, 20],
    ["search, two frequent words, p95", large.frequent, 500],
    ["search, a rare word, p95", large.rare, 500],
  ];
  const megabytes = (large.size / 2 ** 20).toFixed(0);
  console.log(`${messages} messages in ${conversations} conversations: ${megabytes} MiB,`);
  console.log(`written and indexed in ${large.seconds.toFixed(0)} s; resident memory`);
  console.log(
    `${large.before.toFixed(0)} MiB before and ${large.after.toFixed(0)} after the calls\n`,
  );
  console.log(`retention deleted ${large.deleted} conversations\n`);
  const at = (/** @type {number} */ share) => Math.floor((large.steps.length * share) / 100);
  const late = await interleave(rounds, [() => paced(seconds * 4, count(1_000))], deadline);
  const [p99s, p999s] = [0, 1].map((at) => (late[0] ?? []).map((sample) => sample[at] ?? NaN));
  timed.push(
    ["step of retention, p99", large.steps.slice(at(99), at(99) + 1), 5],
    ["longest step of retention", large.steps.slice(-1), 5],
    ["event loop late at 2,000 messages/s, p99", p99s ?? [], 10],
    ["event loop late at 2,000 messages/s, p99.9", p999s ?? [], 50],
  );
  console.log(
    readings(
      timed.map(([what, values]) => ({
        what: String(what),
        unit: "ms",
        values: /** @type {number[]} */ (values),
      })),
    ),
  );
  return timed.map(([what, values, aim]) => ({
    what: String(what),
    aim: Number(aim),
    bound: /** @type {const} */ ("at most"),
    values: [p95(/** @type {number[]} */ (values)), median(/** @type {number[]} */ (values))].slice(
      0,
      1,
    ),
    unit: "ms",
  }));
}
