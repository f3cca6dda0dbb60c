import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createKernel } from "doorward";
import { application, channels } from "doorward/plugins/channels";
import { http } from "doorward/plugins/http";
import { picoServer } from "doorward/plugins/pico-server";
import {
  channelRules,
  connectTestClient,
  createQueue,
  memoryTokens,
  runChannelConformance,
} from "doorward/testing";
import mqtt from "./index.js";
import { joinSession, password, startBroker } from "./broker.js";

const isThere = has("mosquitto", "-h") && has("openssl", "version");
if (!isThere && process.env.CI === "true")
  throw new Error("the tests need the Debian packages mosquitto and openssl");
const skip = isThere
  ? false
  : "mosquitto or openssl is not there: apt-get install mosquitto openssl";

function has(program, ...args) {
  try {
    execFileSync(program, args, { stdio: "ignore" });
    return true;
  } catch ({ code }) {
    return code !== "ENOENT";
  }
}

const tokens = (more = {}) => memoryTokens({ mqtt: password, ...more });
const config = ({ url, ca }, more = {}) => ({
  "channels.mqtt": { url, ...(ca && { ca_file: ca }), ...more },
});
const saysBack = () =>
  application(({ content, reply }) => void reply({ content: `you said ${content}` }));

/** Starts the channel with an application that echoes messages. */
async function serve(broker, more) {
  const kernel = createKernel([tokens(), channels(), mqtt(), saysBack()], {
    config: config(broker, more),
  });
  await kernel.start();
  return kernel;
}

describe("MQTT channel", { skip }, () => {
  let broker;
  before(async () => {
    broker = await startBroker();
  });
  after(async () => {
    for (const leave of guests) await leave();
    await broker.remove();
  });

  const words = {
    create: "create",
    update: "update",
    remove: "remove",
    typing: "typing",
    error: "error",
  };
  /** The broker keeps messages, checks passwords, and does not tell who is connected. */
  const capabilities = { keepsMessages: true, authentication: false, presence: false };
  let count = 0;
  const guests = [];
  async function peer(prefix) {
    const { say, next, leave, session } = await joinSession(broker, `peer-${(count += 1)}`, prefix);
    guests.push(leave);
    return {
      session,
      say,
      leave,
      press: (id, option) => say({ answer: { id, option: option.id } }),
      forge: (content, fields) => say({ ...fields, content }),
      next: async () => {
        const frame = await next();
        return { ...frame, what: words[frame.type], inReplyTo: frame.in_reply_to };
      },
    };
  }

  for (const rule of channelRules) {
    test(rule, async () => {
      const prefix = `rules/${channelRules.indexOf(rule)}`;
      await runChannelConformance(mqtt(), {
        before: [tokens()],
        capabilities,
        rules: [rule],
        config: config(broker, { prefix, client_id: prefix }),
        join: () => peer(prefix),
      });
    });
  }

  test("accepts plain text and publishes its status", async () => {
    const kernel = await serve(broker);
    const ann = await joinSession(broker, "ann");
    await ann.watchStatus();
    assert.equal(await ann.next(), "online");
    await ann.say("hello");
    assert.equal((await ann.next()).content, "you said hello");
    await kernel.stop();
    assert.equal(await ann.next(), "offline");
    await ann.leave();
  });

  test("replies to messages sent while the channel was stopped", async () => {
    await (await serve(broker)).stop();
    const bob = await joinSession(broker, "bob");
    await bob.say("are you there?");
    const kernel = await serve(broker);
    assert.equal((await bob.next()).content, "you said are you there?");
    await kernel.stop();
    await bob.leave();
  });

  test("stops a message loop and reports it to the sender", async () => {
    const kernel = await serve(broker);
    const eve = await joinSession(broker, "eve");
    await eve.say({ id: "round", content: "again", hops: 5 });
    assert.deepEqual(await eve.next(), { type: "error", code: "loop", in_reply_to: "round" });
    await kernel.stop();
    await eve.leave();
  });

  test("settles a question once under double taps", async (t) => {
    const kernel = await serve(broker);
    t.after(() => kernel.stop());
    const ann = await joinSession(broker, "taps");
    t.after(() => ann.leave());
    const { channels: service } = kernel.services;
    const options = [
      { id: "once", label: "Allow once", effect: "allow" },
      { id: "no", label: "Deny", effect: "deny" },
    ];
    const to = { channel: "mqtt", session: "taps" };
    const outcome = service.ask(to, { kind: "approval", content: "Delete x?", options });
    const { type, id, content, question } = await ann.next();
    assert.deepEqual([type, content], ["create", "Delete x?"]);
    assert.deepEqual(question, { kind: "approval", options, state: "open" });
    await ann.say({ answer: { id, option: "maybe" } });
    const wrong = await ann.next();
    assert.deepEqual([wrong.type, wrong.status], ["answer", "invalid"]);
    for (const option of ["no", "once", "no"]) await ann.say({ answer: { id, option } });
    const frames = [];
    while (frames.length < 4) frames.push(await ann.next());
    const [update] = frames.filter((frame) => frame.type === "update");
    assert.match(update.content, /^Delete x\?\n\nDenied \(“Deny”\)/);
    assert.deepEqual([update.final, update.question.state], [true, "settled"]);
    const said = frames.filter((frame) => frame.type === "answer");
    assert.equal(said.filter(({ status }) => status === "settled").length, 1);
    assert.equal(said.filter(({ status }) => status === "already").length, 2);
    const { option, effect } = await outcome;
    assert.deepEqual([option, effect], ["no", "deny"]);
    await ann.say({ answer: { id: "f".repeat(32), option: "once" } });
    assert.equal((await ann.next()).status, "unknown");
  });

  test("fails the start with advice after a wrong password", async () => {
    const kernel = createKernel([memoryTokens({ mqtt: "wrong" }), channels(), mqtt(), saysBack()], {
      config: config(broker),
      log: silent,
    });
    await assert.rejects(kernel.start(), {
      code: "MQTT_REFUSED",
      message: /channels\.mqtt\.user and the mqtt token/,
    });
  });

  test("sends each reply to the channel of its message", async () => {
    const list = [
      tokens({ pico: password }),
      channels(),
      http({ port: 0 }),
      picoServer(),
      mqtt(),
      saysBack(),
    ];
    const kernel = createKernel(list, {
      config: { ...config(broker), "channels.pico": { enabled: true } },
    });
    await kernel.start();
    const [base] = kernel.services.http.addresses();
    const overPico = await connectTestClient(new URL("pico", base), {
      token: password,
      session: "one",
    });
    const overMqtt = await joinSession(broker, "one"); // the same name on purpose
    for (let turn = 0; turn < 5; turn += 1) {
      overPico.say(`pico ${turn}`);
      await overMqtt.say(`mqtt ${turn}`);
      assert.equal(
        (await overPico.next("message.create")).payload.content,
        `you said pico ${turn}`,
      );
      assert.equal((await overMqtt.next()).content, `you said mqtt ${turn}`);
    }
    assert.deepEqual(overPico.waiting, []);
    await overPico.close();
    await kernel.stop();
    await overMqtt.leave();
  });
});

const silent = { debug() {}, info() {}, warn() {}, error() {} };

describe("broker restart", { skip }, () => {
  test("loses no messages, replies or queued messages", async (t) => {
    const broker = await startBroker();
    t.after(broker.remove);
    const kernel = createKernel([tokens(), channels(), mqtt(), saysBack()], {
      config: config(broker),
      log: silent,
    });
    await kernel.start();
    const news = createQueue(20_000);
    kernel.on("channels:receipt-changed", ({ id, status }) => news.push({ id, status }));
    const ann = await joinSession(broker, "ann");
    const said = [];
    const say = (from, to) => {
      for (let n = from; n < to; n += 1) said.push(ann.say({ id: `said-${n}`, content: `${n}` }));
    };
    say(0, 20);
    await broker.stop();
    say(20, 40);
    const to = { channel: "mqtt", session: "ann" };
    const { id, status } = await kernel.services.channels.send(to, { content: "news" });
    assert.equal(status, "buffered");
    await broker.start();
    say(40, 60);
    await Promise.all(said);

    const heard = new Set();
    while (heard.size < 61) heard.add((await ann.next()).content);
    const expected = [...Array(60).keys()].map((n) => `you said ${n}`);
    assert.deepEqual(heard, new Set([...expected, "news"]));
    for (;;) if ((await news.next("a receipt")).id === id) break;
    await kernel.stop();
    await ann.leave();
  });

  test("lets the channel wait if the broker starts later", async (t) => {
    const broker = await startBroker();
    t.after(broker.remove);
    await broker.stop();
    const kernel = createKernel([tokens(), channels(), mqtt(), saysBack()], {
      config: config(broker),
      log: silent,
    });
    await kernel.start();
    await broker.start();
    const ann = await joinSession(broker, "ann");
    await ann.watchStatus();
    assert.equal(await ann.next(), "online");
    await ann.say("hello");
    assert.equal((await ann.next()).content, "you said hello");
    await kernel.stop();
    await ann.leave();
  });
});

describe("launcher with this package", { skip }, () => {
  test("runs the channel and goes offline when killed", async (t) => {
    const broker = await startBroker();
    t.after(broker.remove);
    const { launcher, home, started } = launch(t, broker, password);
    await started();
    const ann = await joinSession(broker, "ann");
    await ann.watchStatus();
    assert.equal(await ann.next(), "online");
    await ann.say("hello");
    assert.equal((await ann.next()).content, "hello");
    assert.deepEqual(
      plugins(home).map(({ name, state }) => [name, state]),
      [["mqtt", "started"]],
    );
    launcher.kill("SIGKILL");
    assert.equal(await ann.next(), "offline");
    await ann.leave();
  });

  test("runs without the channel if the password is wrong", async (t) => {
    const broker = await startBroker();
    t.after(broker.remove);
    const { home, started } = launch(t, broker, "wrong");
    await started();
    const [{ state, reason }] = plugins(home);
    assert.equal(state, "failed");
    assert.match(
      reason,
      /"mqtt" cannot start: the broker refuses the connection .*channels\.mqtt\.user/,
    );
  });
});

const manifest = createRequire(import.meta.url).resolve("doorward/package.json");
const program = join(dirname(manifest), "dist", "bin", "doorward.js");
const plugins = (home) =>
  JSON.parse(
    execFileSync(process.execPath, [program, "status", "-json"], { env: { SERVICE_HOME: home } }),
  ).plugins;

function launch(t, { url }, token) {
  const home = mkdtempSync(join(tmpdir(), "doorward-home-"));
  mkdirSync(join(home, "node_modules"));
  symlinkSync(
    dirname(fileURLToPath(import.meta.url)),
    join(home, "node_modules", "doorward-channel-mqtt"),
  );
  const config = { plugins: ["doorward-channel-mqtt"], channels: { mqtt: { url } } };
  writeFileSync(join(home, "config.json"), JSON.stringify(config), { mode: 0o600 });
  const env = {
    SERVICE_HOME: home,
    SERVICE_CHANNELS_MQTT_TOKEN: token,
    SERVICE_LAUNCHER_TOKEN: `launcher-${password}`,
  };
  const launcher = spawn(process.execPath, [program, "-port", "0"], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(launcher, "exit");
  t.after(async () => {
    launcher.kill("SIGKILL");
    await ended;
    rmSync(home, { recursive: true, force: true });
  });
  return {
    launcher,
    home,
    started: async () => {
      for await (const text of launcher.stdout.iterator({ destroyOnReturn: false }))
        if (/Files/.test(text)) return;
      throw new Error("the launcher did not start");
    },
  };
}

describe("broker with a private certificate", { skip }, () => {
  test("is trusted only with its authority in ca_file", async (t) => {
    const broker = await startBroker({ tls: true });
    t.after(broker.remove);
    const kernel = await serve(broker);
    const ann = await joinSession(broker, "ann");
    await ann.say("hello");
    assert.equal((await ann.next()).content, "you said hello");
    await kernel.stop();
    await ann.leave();

    const strict = createKernel([tokens(), channels(), mqtt(), saysBack()], {
      config: config({ ...broker, ca: undefined }),
      log: silent,
    });
    await assert.rejects(strict.start(), {
      code: "MQTT_UNTRUSTED",
      message: /channels\.mqtt\.ca_file/,
    });
  });
});
