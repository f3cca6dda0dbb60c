import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createKernel } from "doorward";
import { application, channels } from "doorward/plugins/channels";
import {
  channelRules,
  createCapturedLog,
  createStoppedClock,
  memoryTokens,
  runChannelConformance,
} from "doorward/testing";
import { botToken, startFakeApi } from "./fake-api.js";
import telegram from "./index.js";

const tokens = () => memoryTokens({ telegram: botToken });
const kinds = { "\u{1F4AD}": "thought", "\u{1F527}": "tool_calls" };

/** Translates an event of a chat for the conformance rules. */
function toPeerEvent({ what, id, text, on, reply }) {
  const [, code] = /failed \((\w+)\)\. Send it again/.exec(text ?? "") ?? [];
  if (code) return { what: "error", code };
  const [, mark, content] = /^(?:(\u{1F4AD}|\u{1F527}) )?([^]*)$/u.exec(text ?? "");
  return { what, id, on, content, kind: kinds[mark], inReplyTo: reply && String(reply.message_id) };
}

describe("Telegram channel", () => {
  const capabilities = {
    messageIds: "network",
    maxTextLength: 4_096,
    finals: false,
    typingOff: false,
    presence: false,
    keepsMessages: true,
  };

  for (const rule of channelRules) {
    test(rule, async (t) => {
      const api = await startFakeApi();
      t.after(api.close);
      let count = 1_000;
      await runChannelConformance(telegram(), {
        before: [tokens()],
        capabilities,
        rules: [rule],
        config: { "channels.telegram": { api_url: api.url, allow: ["1001", "1002"] } },
        join() {
          const id = (count += 1);
          const { say, events, press } = api.user(count === 1_003 ? 1_001 : id);
          const cards = new Map();
          return {
            session: String(id),
            say,
            reply: (message, text) =>
              say(text, { reply_to_message: { message_id: Number(message) } }),
            press(message, { label }) {
              const button = cards.get(message)?.find(({ text }) => text === label);
              if (button) press(message, button.callback_data);
            },
            async next() {
              const event = await events.next("an event");
              if (event.buttons) cards.set(event.id, event.buttons);
              return toPeerEvent(event);
            },
            leave() {},
          };
        },
        intrude: () => api.user(666),
      });
    });
  }
});

/** Starts the channel and one chat with an allowed user, on a stopped clock. */
async function serve(t, answer, { config = {}, start = true } = {}) {
  const api = await startFakeApi();
  t.after(api.close);
  const clock = createStoppedClock();
  const { log, lines } = createCapturedLog();
  const kernel = createKernel([tokens(), channels(), telegram(), application(answer)], {
    config: { "channels.telegram": { api_url: api.url, allow: ["7"], ...config } },
    clock,
    log,
  });
  t.after(() => kernel.stop());
  if (start) await kernel.start();
  const to = { channel: "telegram", session: "7" };
  return { api, kernel, clock, lines, to, ann: api.user(7), ...kernel.services };
}
const turn = () => new Promise((resolve) => void setImmediate(resolve));
/** Advances the clock in small steps until the condition holds. */
async function passUntil(clock, isDone) {
  while (!isDone()) {
    clock.increment(10);
    await turn();
  }
}
const echo = ({ content, reply }) => void reply({ content: `you said ${content}` });
const limited = { status: 429, description: "Too Many Requests", retryAfter: 7 };

describe("allowlist", () => {
  test("rejects an unknown user with a sentence that names the id", async (t) => {
    const { api, ann } = await serve(t, echo);
    const eve = api.user(666);
    eve.say("let me in");
    const { text } = await eve.events.next("the refusal");
    assert.equal(
      text,
      "You are not allowed to use this bot; ask its owner to allow the Telegram user 666.",
    );
    eve.say("please");
    ann.say("hello");
    assert.equal((await ann.events.next("the reply")).text, "you said hello");
    assert.deepEqual(eve.events.waiting, []);
  });

  test("allows no user by default and sends nothing to other chats", async (t) => {
    const { kernel, ann } = await serve(t, echo, { config: { allow: [] } });
    ann.say("hello");
    assert.match((await ann.events.next("the refusal")).text, /allow the Telegram user 7\.$/);
    const to = { channel: "telegram", session: "7" };
    const { status } = await kernel.services.channels.send(to, { content: "hello" });
    assert.equal(status, "undelivered");
  });

  test("ignores groups and bots, and reads text only", async (t) => {
    const { ann } = await serve(t, echo);
    ann.say("in a group", { chat: { id: -5, type: "group" } });
    ann.say("from a bot", { from: { id: 7, is_bot: true } });
    ann.say({ photo: [] });
    assert.equal((await ann.events.next("a note")).text, "This bot reads text messages only.");
  });
});

describe("rate limits", () => {
  test("waits as long as Telegram asks, and keeps the order", async (t) => {
    const { api, clock, ann, to, channels } = await serve(t, echo);
    api.fail("sendMessage", limited);
    const sent = ["one", "two"].map((content) => channels.send(to, { content }));
    await passUntil(clock, () => ann.events.waiting.length === 2);
    assert.ok(clock.now() >= 7_000);
    assert.deepEqual(
      (await Promise.all(sent)).map(({ status }) => status),
      ["written", "written"],
    );
    assert.deepEqual(
      ann.events.waiting.map(({ text }) => text),
      ["one", "two"],
    );
  });

  test("merges the updates of a stream into one edit per second", async (t) => {
    const { api, clock, ann, to, channels } = await serve(t, echo);
    const stream = channels.stream(to);
    stream.write("one");
    await ann.events.next("the first text");
    for (const word of [" two", " three", " four"]) {
      stream.write(word);
      clock.increment(200);
      await turn();
    }
    assert.deepEqual(ann.events.waiting, []);
    await passUntil(clock, () => ann.events.waiting.length > 0);
    assert.equal((await ann.events.next("an edit")).text, "one two three four");
    stream.write(" five");
    await stream.end();
    assert.equal((await ann.events.next("the last edit")).text, "one two three four five");
    const edits = api.calls.waiting.filter(({ method }) => method === "editMessageText");
    assert.equal(edits.length, 2);
  });
});

describe("questions", () => {
  const options = [
    { id: "once", label: "Allow once", effect: "allow" },
    { id: "o".repeat(64), label: "L".repeat(80), effect: "allow", lasting: true },
    { id: "no", label: "Deny", effect: "deny" },
  ];
  const question = { kind: "approval", content: "Delete x?", options };
  /** Starts the channel, and asks. */
  async function ask(t, input = question) {
    const served = await serve(t, echo);
    const outcome = served.channels.ask(served.to, input);
    const created = await served.ann.events.next("the question");
    return { ...served, outcome, created };
  }
  /** Reads events of this kind. */
  async function next(ann, what) {
    for (;;) {
      const event = await ann.events.next(what);
      if (event.what === what) return event;
    }
  }

  test("has a button for each option, within the limit of Telegram", async (t) => {
    const { created } = await ask(t);
    assert.equal(created.text, "Delete x?");
    assert.deepEqual(
      created.buttons.map(({ text }) => text),
      options.map(({ label }) => label),
    );
    for (const { callback_data: data } of created.buttons) assert.match(data, /^q:[\w-]{16}$/);
  });

  test("settles once under double taps, and removes the buttons", async (t) => {
    const { ann, created, outcome } = await ask(t);
    const [allow, , deny] = created.buttons;
    for (const { callback_data: data } of [deny, allow, deny]) ann.press(created.id, data);
    const { text } = await next(ann, "update");
    assert.equal(text, "Delete x?\n\nDenied (“Deny”) by Ann.");
    assert.deepEqual(ann.buttons(created.id), []);
    const { option, effect, by } = await outcome;
    assert.deepEqual([option, effect, by], ["no", "deny", { id: "7", name: "Ann" }]);
    const said = [
      await next(ann, "pressed"),
      await next(ann, "pressed"),
      await next(ann, "pressed"),
    ];
    const count = (text) => said.filter((event) => event.text === text).length;
    assert.equal(count("Your answer counts."), 1);
    assert.equal(count("This question is answered already."), 2);
  });

  test("shows the answer of the dashboard, and keeps it at a late press", async (t) => {
    const { ann, created, outcome, to, channels } = await ask(t);
    const [{ id }] = channels.questions(to);
    await channels.answer(to, id, { option: "no" }, { id: "owner" }, "dashboard");
    assert.match(
      (await next(ann, "update")).text,
      /Denied \(“Deny”\) by owner, in the dashboard\.$/,
    );
    assert.deepEqual(ann.buttons(created.id), []);
    ann.press(created.id, created.buttons[0].callback_data);
    assert.equal((await next(ann, "pressed")).text, "This question is answered already.");
    assert.equal((await outcome).effect, "deny");
  });

  test("ignores the button of another chat, and that of another user", async (t) => {
    const { api, ann, created, to, channels, kernel } = await ask(t);
    const eve = api.user(666);
    const [{ callback_data: data }] = created.buttons;
    eve.press(created.id, data);
    ann.press(created.id, data, { from: { id: 666, is_bot: false } });
    ann.press(created.id, data, {
      message: { message_id: 1, date: 0, chat: { id: -5, type: "group" } },
    });
    ann.press(created.id, "q:unknown");
    assert.equal((await next(ann, "pressed")).text, "This question is no longer open.");
    assert.equal(channels.questions(to).length, 1);
    assert.deepEqual(eve.events.waiting, []);
    await kernel.stop();
  });

  test("removes the buttons of a long question", async (t) => {
    const content = `${"word ".repeat(1_000)}end`;
    const { ann, outcome, channels, to } = await ask(t, { ...question, content });
    const last = await ann.events.next("the second part");
    assert.equal(last.buttons.length, 3);
    ann.press(last.id, last.buttons[0].callback_data);
    assert.equal((await outcome).effect, "allow");
    assert.deepEqual(ann.buttons(last.id), []);
    assert.deepEqual(channels.questions(to), []);
  });

  test("removes buttons from before a restart", async (t) => {
    const { api, kernel, ann, created } = await ask(t);
    await kernel.stop();
    assert.deepEqual(ann.buttons(created.id), []);
    const [{ callback_data: data }] = created.buttons;
    const again = createKernel([tokens(), channels(), telegram(), application(echo)], {
      config: { "channels.telegram": { api_url: api.url, allow: ["7"] } },
      log: createCapturedLog().log,
    });
    t.after(() => again.stop());
    await again.start();
    ann.press(created.id, data);
    assert.equal((await next(ann, "pressed")).text, "This question is no longer open.");
  });

  test("says where to answer a form", async (t) => {
    const schema = { type: "object", properties: { name: { type: "string" } } };
    const { created } = await ask(t, { kind: "form", content: "Who?", schema });
    assert.match(created.text, /^Who\?\n\nAnswer in the dashboard or with/);
    assert.equal(created.buttons, undefined);
  });
});

describe("outage", () => {
  test("ends when Telegram can be reached again", async (t) => {
    const { api, kernel, clock } = await serve(t, echo, { start: false });
    await api.close();
    await kernel.start();
    const again = await startFakeApi({ port: api.port });
    t.after(again.close);
    const ann = again.user(7);
    ann.say("hello");
    await passUntil(clock, () => ann.events.waiting.length > 0);
    assert.equal((await ann.events.next("the reply")).text, "you said hello");
  });
});

describe("token", () => {
  test("fails the start with advice if Telegram rejects it", async (t) => {
    const api = await startFakeApi();
    t.after(api.close);
    for (const [token, code] of [
      ["4711:wrong", "TELEGRAM_REFUSED"],
      ["not a token", "TELEGRAM_TOKEN"],
    ]) {
      const list = [memoryTokens({ telegram: token }), channels(), telegram(), application(echo)];
      const kernel = createKernel(list, {
        config: { "channels.telegram": { api_url: api.url } },
        log: createCapturedLog().log,
      });
      await assert.rejects(kernel.start(), { code, message: /SERVICE_CHANNELS_TELEGRAM_TOKEN/ });
    }
  });

  test("appears in no log line and no receipt if Telegram is away", async (t) => {
    const { api, kernel, lines, to } = await serve(t, echo, { start: false });
    await api.close();
    await kernel.start();
    const receipt = await kernel.services.channels.send(to, { content: "hello" });
    assert.equal(receipt.status, "undelivered");
    assert.match(receipt.reason, /ECONNREFUSED/);
    assert.ok(lines.length > 0);
    assert.ok(!JSON.stringify([lines, receipt]).includes("correct-horse"));
  });
});

describe("launcher with this package", () => {
  test("answers an allowed user with the token from the environment", async (t) => {
    const api = await startFakeApi();
    t.after(api.close);
    const home = mkdtempSync(join(tmpdir(), "doorward-home-"));
    mkdirSync(join(home, "node_modules"));
    const own = dirname(fileURLToPath(import.meta.url));
    symlinkSync(own, join(home, "node_modules", "doorward-channel-telegram"));
    const config = {
      plugins: ["doorward-channel-telegram"],
      channels: { telegram: { api_url: api.url, allow: ["7"] } },
    };
    writeFileSync(join(home, "config.json"), JSON.stringify(config), { mode: 0o600 });
    const manifest = createRequire(import.meta.url).resolve("doorward/package.json");
    const program = join(dirname(manifest), "dist", "bin", "doorward.js");
    const launcher = spawn(process.execPath, [program, "-port", "0", "-no-browser"], {
      env: {
        SERVICE_HOME: home,
        SERVICE_CHANNELS_TELEGRAM_TOKEN: botToken,
        SERVICE_LAUNCHER_TOKEN: "launcher-correct-horse-battery-staple",
      },
      stdio: "ignore",
    });
    const ended = once(launcher, "exit");
    t.after(async () => {
      launcher.kill("SIGKILL");
      await ended;
      rmSync(home, { recursive: true, force: true });
    });
    const ann = api.user(7);
    ann.say("hello");
    assert.equal((await ann.events.next("the echo")).text, "hello");
    launcher.kill("SIGTERM");
    assert.deepEqual(await ended, [0, null]);
  });
});
