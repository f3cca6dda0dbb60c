import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { root } from "../rules/source.ts";

/* Runs hosts that await none of their calls, with the built package. */

beforeAll(() => {
  if (!existsSync(join(root, "dist")))
    throw new Error("dist/ is not there: npm run build makes it");
});

/** A host with a channel of its own. `calls` has every call, which `reason` makes fail. */
const header = `
import { createKernel } from "doorward";
import { application, channels, defineChannel } from "doorward/plugins/channels";
import { media } from "doorward/plugins/media";
import { picoClient } from "doorward/plugins/pico-client";
import { memory, tokenStore } from "doorward/plugins/token-store";

const logged = [];
const log = { debug() {}, info() {}, warn() {}, error: (fields) => void logged.push(fields) };
const ends = [];
const turn = () => new Promise((resolve) => setImmediate(resolve));
const turns = async () => { for (let at = 0; at < 10; at++) await turn(); };
let removed;
const store = { name: "conversations", api: 1, start: () => ({ conversations: {
  taken: { known: async () => [], settle: async () => undefined },
  record: () => ({ canKeep: () => false }),
  watchDeletions: (listener) => void (removed = () => listener({ channel: "radio", session: "s" })),
} }) };
const tooLarge = () => { throw Object.assign(new Error("large"), { name: "DoorwardError", code: "too_large" }); };
const radio = defineChannel({
  name: "radio",
  start: ({ attach }) => attach({
    keeps: false, accepts: "console",
    send: (session, id, { content }) => content.length > 1_000 ? tooLarge() : undefined,
    update: (session, id, { content }) => content.length > 1_000 ? tooLarge() : undefined,
    remove: () => undefined,
    ended: (session, id, end) => void ends.push({ id, ...end }),
  }),
});
let handle = () => undefined;
let last;
const kernel = createKernel([
  store, tokenStore(memory({})), media({ home: process.argv[1] }), channels(), radio, picoClient(),
  application((message) => handle(message)),
], { log });
await kernel.start();
const { radio: channel, channels: service, media: files, picoLink } = kernel.services;
const to = { channel: "radio", session: "s" };

const values = { tooLarge: "x".repeat(2_000), huge: "x".repeat(40_000_000) };
/** The calls about a message; each is called with a wrong or large text. */
const calls = (message, text) => ({
  reply: () => message.reply({ content: text }),
  growing: () => message.reply({ content: text, final: false }),
  update: () => message.update("0".repeat(32), { content: text }),
  stream: () => { const own = message.stream(); own.write(text); own.end(); },
  open: () => { message.stream().write(text); },
  ends: () => { const own = message.stream(); own.write("a"); own.end(text); },
  ask: () => message.ask({ kind: "approval", content: text, signal: text }),
  history: () => message.history({ before: text }),
  end: () => message.end({ usage: text }),
  send: () => service.send(to, { content: text }),
  sends: () => service.send(text, { content: "a" }),
  change: () => service.update(to, "0".repeat(32), { content: text }),
  remove: () => service.remove(to, text),
  asks: () => service.ask(to, { kind: "approval", content: text }),
  durable: () => service.ask(to, { kind: "approval", content: text, durable: text }),
  answer: () => service.answer(to, "q", text, undefined, "pico"),
  streams: () => { const own = service.stream(to); own.write(text); own.end(); },
  title: () => service.title(to, text),
  read: () => service.history(text),
  stop: () => service.stop(text),
  console: () => service.deliver(to, { id: text, content: text }),
  deliver: () => channel.deliver({ session: "t", id: text, content: text, hops: 9 }),
  answers: () => channel.answer("s", text, text),
  put: () => files.put(text, text),
  find: () => files.open(text),
  share: () => files.share(text, text),
  link: () => picoLink.send({ content: text }),
  linkStop: () => picoLink.stop(text),
  linkAnswer: () => picoLink.answer(text, text),
  then: () => message.reply({ content: text }).then(() => undefined),
  finally: () => message.reply({ content: text }).finally(() => undefined),
});
/** Calls everything in one message, and awaits nothing. */
const run = async (text, before = () => undefined) => {
  let called;
  const isCalled = new Promise((resolve) => void (called = resolve));
  handle = async (message) => {
    if (message.id !== "a") return;
    last = message;
    await before(message);
    for (const call of Object.values(calls(message, text))) call();
    called();
  };
  channel.deliver({ session: "s", id: "a", content: "go" });
  await isCalled;
  await turns();
};
const finish = () => console.log(JSON.stringify({ ends: ends.filter(({ id }) => id === "a"), logged: logged.map(({ call, code }) => call + " " + code) }));
`;

interface Outcome {
  readonly ends: readonly {
    readonly id: string;
    readonly outcome: string;
    readonly code?: string;
  }[];
  readonly logged: readonly string[];
}

async function host(script: string): Promise<Outcome> {
  const home = await mkdtemp(join(tmpdir(), "host-"));
  const child = spawn(
    process.execPath,
    ["--input-type=module", "-e", `${header}${script}\nfinish();\nprocess.exit(0);`, home],
    { cwd: root, stdio: ["ignore", "pipe", "pipe"], timeout: 50_000 },
  );
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => void (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => void (err += text));
  const [code] = (await once(child, "close")) as [number | null];
  await rm(home, { recursive: true });
  expect(err).toBe("");
  expect(code).toBe(0);
  return JSON.parse(out) as Outcome;
}

const wrong = ["null", "undefined", "{}", "7", "10n", "[]", "Symbol.iterator", "() => 1"];

describe("a host that awaits no call", () => {
  test.each(wrong)("survives the wrong value %s", async (value) => {
    const { ends, logged } = await host(`await run(${value});`);
    expect(ends).toMatchObject([{ id: "a", outcome: "failed", code: "reply_invalid" }]);
    expect(logged).toContain("reply reply_invalid");
    expect(logged).toContain("update reply_invalid");
    expect(logged).toContain("send reply_invalid");
  });

  test.each(["tooLarge", "huge"])("survives a text of the size %s", async (size) => {
    const { ends, logged } = await host(`await run(values.${size});`);
    expect(ends).toMatchObject([{ id: "a", outcome: "failed", code: "too_large" }]);
    expect(logged).toContain("reply too_large");
  });

  test("survives a stop, which is not logged", async () => {
    const { ends, logged } = await host(`await run("text", () => service.stop(to, "a"));`);
    expect(ends).toMatchObject([{ id: "a", outcome: "stopped" }]);
    expect(logged.filter((line) => line.startsWith("reply "))).toEqual([]);
  });

  test("survives the deletion of the conversation", async () => {
    const { logged } = await host(`await run("text", () => void removed()());`);
    expect(logged.filter((line) => line.startsWith("reply "))).toEqual([]);
  });

  test("survives a stop of the kernel", async () => {
    const { logged } = await host(`
      let stopping;
      await run("text", async ({ signal }) => {
        stopping = kernel.stop({ timeoutMs: 1_000 });
        if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      });
      await stopping;
      for (const call of Object.values(calls(last, "text"))) call();
      await turns();
    `);
    expect(logged).toContain("send not_running");
  });

  test("leaves a failure to the code that awaits it", async () => {
    const { ends, logged } = await host(`
      handle = async ({ reply }) => {
        await reply({ content: null }).catch(() => undefined);
        await reply({ content: "well" });
      };
      await channel.deliver({ session: "s", id: "a", content: "go" });
      await turns();
    `);
    expect(ends).toMatchObject([{ id: "a", outcome: "completed" }]);
    expect(logged).toEqual([]);
  });
});
