// Kills a real launcher between asking, answering and telling, again and again.
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { startLauncher } from "../e2e/launcher.ts";
import { rounds } from "../support/runs.ts";

const token = "correct-horse-battery-staple-correct-horse-battery-staple";
const sessionsPerRound = 4;
/** The launcher stores within this time that the program has accepted an answer. */
const maxAcceptMs = 500;

/** Asks one question per session, and appends what it receives to a file before it goes on. */
const program = `
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
const say = (type, payload) => console.log(JSON.stringify({ type, payload }));
const note = (line) => appendFileSync(process.argv[2], JSON.stringify(line) + "\\n");
for await (const text of createInterface({ input: process.stdin })) {
  const { type, id, session_id: session, payload } = JSON.parse(text);
  if (type === "question.settled") {
    note({ session, pid: process.pid, at: Date.now(), ...payload });
    say("message.create", { request_id: id, content: payload.outcome, final: true });
  } else if (type === "message.send" && payload.answer) {
    note({ session, pid: process.pid, at: Date.now(), ...payload.answer });
    say("message.ack", { request_id: id, final: true });
  } else if (type === "message.send") {
    const durable = payload.content === "durable" ? { durable: session } : {};
    const question = { kind: "approval", content: "Go on?", ...durable };
    say("question.ask", { request_id: id, message_id: id, ...question });
    if (durable.durable) say("message.ack", { request_id: id, final: true });
  }
}
`;

interface Settled {
  readonly outcome: string;
  readonly option?: string;
}
interface Told extends Settled {
  readonly session: string;
  readonly pid: number;
  /** Unix milliseconds. */
  readonly at: number;
  readonly effect?: string;
}
interface AskedSession {
  readonly session: string;
  readonly isDurable: boolean;
  /** The server said that this answer settled the question. */
  acknowledged?: Settled;
}
interface Question {
  readonly state: "open" | "settled";
  readonly settled?: Settled;
}
interface Frame {
  readonly type: string;
  readonly payload: {
    readonly message_id?: string;
    readonly question?: Question;
    readonly status?: string;
    readonly settled?: Settled;
  };
}

const authorization = `Bearer ${token}`;

/** Sends a message, and answers the question that it causes, until the connection ends. */
function converse(base: URL, asked: AskedSession, progress: () => void): Promise<void> {
  const url = new URL(`/pico?session_id=${asked.session}&pico_ext=1&pico_can=questions`, base);
  url.protocol = "ws:";
  const socket = new WebSocket(url, { headers: { authorization } });
  const send = (type: string, payload: object): void =>
    socket.send(JSON.stringify({ type, id: `${asked.session}-${type}`, payload }));
  const option = randomInt(2) === 0 ? "allow" : "deny";
  socket.on("message", (data) => {
    const { type, payload } = JSON.parse((data as Buffer).toString()) as Frame;
    if (type === "hello") send("message.send", { content: asked.isDurable ? "durable" : "plain" });
    if (type === "message.create" && payload.question)
      send("question.answer", { message_id: payload.message_id, option });
    if (type === "question.ack" && payload.status === "settled")
      asked.acknowledged = payload.settled!;
    progress();
  });
  socket.on("error", () => undefined);
  return new Promise((resolve) => void socket.once("close", () => resolve()));
}

/** @returns The id and the question of a session. Undefined if it was not asked. */
async function questionOf(base: URL, session: string) {
  const url = new URL(`/pico/history?session_id=${session}`, base);
  const response = await fetch(url, { headers: { authorization } });
  assert.equal(response.status, 200, await response.clone().text());
  const { turns } = (await response.json()) as { turns: { id: string; question?: Question }[] };
  const asked = turns.filter(({ question }) => question);
  assert(asked.length <= 1, `${session} has two questions`);
  return asked[0] && { id: asked[0].id, question: asked[0].question! };
}

function readTold(file: string): Told[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Told);
}

/** Compares what the program received about a session with its history. */
function checkTold(told: readonly Told[], settled: Settled | undefined, asked: AskedSession): void {
  const { session, acknowledged, isDurable } = asked;
  for (const { outcome, option, effect } of told) {
    const name = `${session} received ${outcome}`;
    expect({ outcome, option }, name).toEqual({
      outcome: settled?.outcome,
      option: settled?.option,
    });
    expect(effect === "allow", name).toBe(settled?.option === "allow");
  }
  const pids = told.map(({ pid }) => pid);
  expect(new Set(pids).size, `${session} received it twice`).toBe(pids.length);
  if (!isDurable) expect(told.length).toBeLessThanOrEqual(1);
  if (acknowledged) expect(settled, session).toMatchObject(acknowledged);
}

/** Waits until the questions of killed processes are closed, and answers durable ones. */
async function checkRestart(base: URL, file: string, all: readonly AskedSession[]): Promise<void> {
  for (const asked of all) {
    const read = () => questionOf(base, asked.session);
    const found = await read();
    if (!found) continue;
    if (asked.isDurable && found.question.state === "open") {
      const body = { session_id: asked.session, message_id: found.id, option: "deny" };
      const headers = { authorization, "content-type": "application/json" };
      const url = new URL("/pico/answer", base);
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      expect((await fetch(url, init)).status, asked.session).toBe(200);
    }
    const state = async () => (await read())?.question.state;
    await expect.poll(state, { timeout: 5_000, message: asked.session }).toBe("settled");
    const { settled } = (await read())!.question;
    expect(["answered", "lost"], asked.session).toContain(settled!.outcome);
    const told = () => readTold(file).filter(({ session }) => session === asked.session);
    if (asked.isDurable)
      await expect
        .poll(() => told().length, { timeout: 10_000, message: `${asked.session} receives` })
        .toBeGreaterThan(0);
    checkTold(told(), settled, asked);
  }
}

/** An answer comes again only if the launcher was killed before it had stored the acceptance. */
function checkRepeated(told: readonly Told[], killed: ReadonlyMap<number, number>): void {
  const latest = new Map(told.map((each) => [each.session, each]));
  const gaps = told
    .filter((each) => latest.get(each.session) !== each)
    .map(({ pid, at }) => killed.get(pid)! - at);
  expect(gaps.filter((gap) => gap > maxAcceptMs)).toEqual([]);
}

test("acts on no unrecorded answer, and leaves no question open", async () => {
  const folder = await mkdtemp(join(tmpdir(), "doorward-question-kills-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [script, file] = [join(folder, "program.mjs"), join(folder, "told.jsonl")];
  writeFileSync(script, program);
  const env = {
    SERVICE_HOME: join(folder, "home"),
    SERVICE_CHANNELS_PICO_TOKEN: token,
    SERVICE_CHANNELS_PICO_ENABLED: "true",
    SERVICE_CHANNELS_PICO_MESSAGE_RATE: "0",
    SERVICE_STORE_KIND: "sqlite",
  };
  const args = ["run", "-console", "-no-browser", "-port", "0", "--", process.execPath];
  const start = () => startLauncher({ args: [...args, script, file], env, cwd: folder });
  const everything: AskedSession[] = [];
  let last: AskedSession[] = [];
  /** Unix milliseconds, by the process id of the program. */
  const killed = new Map<number, number>();
  for (let round = 0; round < rounds(200); round += 1) {
    await using launcher = await start();
    await checkRestart(launcher.base, file, last);
    last = Array.from({ length: sessionsPerRound }, (_, at) => ({
      session: `r${round}-${at}`,
      isDurable: at % 2 === 1,
    }));
    everything.push(...last);
    let killedAt = 0;
    const kill = (): void => {
      killedAt ||= Date.now();
      launcher.child.kill("SIGKILL");
    };
    let left = 1 + randomInt(sessionsPerRound * 7);
    const progress = (): void => {
      left -= 1;
      if (left === 0) setTimeout(kill, randomInt(4));
    };
    // A round that has fewer frames ends as well.
    const limit = setTimeout(kill, 1_000);
    await Promise.all(last.map((asked) => converse(launcher.base, asked, progress)));
    clearTimeout(limit);
    await launcher.ended;
    for (const { pid } of readTold(file)) if (!killed.has(pid)) killed.set(pid, killedAt);
  }
  await using launcher = await start();
  await checkRestart(launcher.base, file, last);
  await checkRestart(launcher.base, file, everything);
  const told = readTold(file);
  expect(told.length).toBeGreaterThan(0);
  checkRepeated(told, killed);
}, 900_000);
