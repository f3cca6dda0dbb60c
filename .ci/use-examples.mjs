// Starts each example in the project of .ci/examples.mjs, under the Node that runs this file, and uses
// it. Each example must exit with 0 after SIGTERM.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const root = fileURLToPath(new URL("..", import.meta.url));
const [, , project] = process.argv;
/** Files of this run. Other versions of Node run in parallel. */
const own = path.join(project, `node-${process.version}`);
mkdirSync(own);
// The installed program runs `node` from the PATH.
process.env.PATH = `${path.dirname(process.execPath)}:${process.env.PATH}`;
const run = (command, ...args) =>
  execFileSync(command, args, {
    cwd: project,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
const token = "correct-horse-battery-staple";

/** A check for each example, which gets the address that the example listens on. */
const checks = {
  async "embed-http"(at) {
    expect(await text(at), "my own site");
    expect(await text(new URL("health", at)), /"ready":true/);
    expect(await echoOf(new URL("door/pico", at), { token }), "you said hello");
    expect(await clientOutput(new URL("door/pico", at)), "they said you said hello");
    console.log("client: exchanges messages with embed-http and exits");
  },
  async "embed-fastify"(at) {
    expect(await text(at), "my own site");
    expect(await echoOf(new URL("pico", at), { token }), "you said hello");
    const headers = { cookie: "session=ann-s-cookie", origin: at.origin };
    expect(await echoOf(new URL("pico", at), { headers }), "you said hello");
  },
  async "embed-express"(at) {
    expect(await text(at), "my own site");
    expect(await echoOf(new URL("pico", at), { token: "bob-s-own-token" }), "you said hello");
    expect(await rejection(new URL("pico", at), { token }), 401);
  },
  async "two-kernels"(acme, printed) {
    const umbrella = new URL(await printed(/umbrella listening (\S+)/));
    for (const [at, token] of [
      [acme, "acme-channel-token"],
      [umbrella, "umbrella-channel-token"],
    ]) {
      expect(await echoOf(new URL("pico", at), { token }), "hello");
    }
    expect(await rejection(new URL("pico", umbrella), { token: "acme-channel-token" }), 401);
  },
  async "browser-page"(at) {
    const answer = await fetch(at);
    expect(await answer.text(), /new WebSocket/);
    const [cookie] = answer.headers.get("set-cookie").split(";");
    expect(await echoOf(new URL("pico", at), { headers: { cookie, origin: at.origin } }), "hello");
    expect(await rejection(new URL("pico", at), { headers: { origin: at.origin } }), 401);
  },
  async "react-chat"(at) {
    const executablePath = process.env.TEST_BROWSER ?? findBrowser();
    const browser = await chromium.launch({ executablePath });
    try {
      const context = await browser.newContext();
      const page = await context.newPage();
      const errors = [];
      page.on("pageerror", (error) => errors.push(error.message));
      page.on("console", (line) => line.type() === "error" && errors.push(line.text()));
      await page.goto(at.href);
      const rows = (name) => page.locator(`li.${name}`).allTextContents();
      const say = async (text) => {
        await page.getByLabel("Message").fill(text);
        await page.getByRole("button", { name: "Send" }).click();
      };
      const idle = () => page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
      await page.getByRole("status").getByText("open").waitFor();
      await say("hello");
      await page.getByText("It is noon. You said: hello", { exact: true }).waitFor();
      await idle();
      expect((await rows("user")).join(), "hello");
      expect((await rows("tool_calls")).join(), "clock: noon");
      expect((await rows("thought")).join(), "ThoughtThe clock knows.");
      await say(Array(100).fill("on").join(" "));
      await page
        .getByText(/You said: on on/)
        .nth(0)
        .waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      await idle();
      const before = await rows("assistant");
      expect(before.length, 2);
      await page.reload();
      await page.locator("li.assistant").nth(1).waitFor();
      expect((await rows("assistant")).join("|"), before.join("|"));
      expect((await rows("user")).length, 2);
      expect(errors.filter((text) => !text.includes("favicon.ico")).join(), "");
    } finally {
      await browser.close();
    }
  },
  async "llm-stream"(at) {
    const { connectTestClient } = await kit();
    const client = await connectTestClient(new URL("pico", at), { token });
    client.say("why");
    const { payload: thought } = await client.next("message.create");
    expect(thought.kind, "thought");
    const { payload: begun } = await client.next("message.create");
    const updates = [];
    for (;;) {
      const { payload } = await client.next("message.update");
      updates.push(payload);
      if (payload.context_usage) break;
    }
    expect(updates.at(-1).content, "You asked: why. Here is what I think of it.");
    expect(
      [begun, ...updates].every(({ message_id }) => message_id === begun.message_id),
      true,
    );
    await client.close();
  },
  async bridge(at) {
    const { joinSession } = await import(
      pathToFileURL(path.join(project, "channel-mqtt", "broker.js")).href
    );
    const { connectTestClient } = await kit();
    const client = await connectTestClient(new URL("pico", at), { token, session: "one" });
    const ann = await joinSession(broker, "one");
    client.say("hello");
    expect((await ann.next()).content, "hello");
    await ann.say({ content: "hello yourself" });
    expect((await client.next("message.create")).payload.content, "hello yourself");
    await ann.say({ content: "round and round", hops: 4 });
    expect((await ann.next()).code, "loop");
    await ann.leave();
    await client.close();
  },
};
/** A real mosquitto, for the bridge. */
let broker;

/** File in examples/programs, its interpreter and its reply to "two words". */
const programs = [
  ["echo.py", "python3", "you said two words"],
  ["words.sh", "bash", "two words: 2 words"],
  ["stream.mjs", process.execPath, "You asked: two words."],
];

try {
  await checkEmbeddingPage();
  broker = await (
    await import(pathToFileURL(path.join(project, "channel-mqtt", "broker.js")).href)
  ).startBroker();
  for (const [name, check] of Object.entries(checks)) await checkExample(name, check);
  for (const each of programs) await checkProgram(...each);
  execFileSync(process.execPath, ["--test", "built/plugin/guestbook.test.js"], {
    cwd: project,
    stdio: "inherit",
  });
  console.log("plugin: tests pass");
  for (const name of ["channel-udp", "channel-mqtt", "channel-telegram"]) {
    run(process.execPath, "--test", ...testsOf(name));
    console.log(`${name}: tests pass`);
  }
  const tested = ["plugin", "channel-udp", "channel-mqtt", "channel-telegram"];
  const all = readdirSync(path.join(root, "examples"), { withFileTypes: true });
  const names = all
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .filter((name) => name !== "programs");
  const unknown = names.filter((name) => !tested.includes(name) && !(name in checks));
  if (unknown.length > 0) throw new Error(`no check for the examples ${unknown.join(", ")}`);
  console.log(`the examples work under Node ${process.version}`);
} finally {
  await broker?.remove();
}

function testsOf(folder) {
  return readdirSync(path.join(project, folder))
    .filter((file) => file.endsWith(".test.js"))
    .map((file) => path.join(folder, file));
}

/** Runs the first example of the embedding page as a reader would type it. */
async function checkEmbeddingPage() {
  const text = readFileSync(path.join(root, "docs", "embedding.md"), "utf8");
  const port = await freePort();
  for (const [, file, code] of text.matchAll(/<!-- (\w+\.mjs) -->\n+```js\n([^]*?)```/g)) {
    writeFileSync(path.join(own, file), code.replaceAll("8080", String(port)));
  }
  const host = spawn(process.execPath, ["hello.mjs"], { cwd: own, stdio: "inherit" });
  try {
    // The client retries until the host listens.
    const output = execFileSync(process.execPath, ["ask.mjs"], {
      cwd: own,
      encoding: "utf8",
      timeout: 40_000,
    });
    expect(output.trim(), "you said hello");
    console.log("docs/embedding.md: the first example works");
  } finally {
    host.kill("SIGKILL");
  }
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  return port;
}

async function checkExample(name, check) {
  const { PATH } = process.env;
  const brands = Object.fromEntries(
    ["acme", "umbrella"].flatMap((brand) => [
      [`${brand.toUpperCase()}_CHANNELS_PICO_ENABLED`, "true"],
      [`${brand.toUpperCase()}_CHANNELS_PICO_TOKEN`, `${brand}-channel-token`],
    ]),
  );
  const child = spawn(process.execPath, [`built/${name}/index.js`], {
    cwd: project,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH,
      HOME: own,
      PORT: "0",
      ...brands,
      MQTT_URL: broker.url,
      MQTT_PASSWORD: token,
      CHAT_STORE: path.join(own, "chat.db"),
    },
  });
  const ended = new Promise((resolve) =>
    child.once("close", (code, signal) => resolve(signal ?? code)),
  );
  let output = "";
  const listeners = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (more) => {
      output += more;
      for (const listener of listeners) listener();
    });
  }
  const printed = (pattern) =>
    within(
      30,
      `${name} to print ${pattern}`,
      new Promise((resolve, reject) => {
        const look = () => pattern.test(output) && resolve(pattern.exec(output)[1]);
        listeners.push(look);
        look();
        void ended.then((code) => reject(new Error(`${name} ended with ${code}:\n${output}`)));
      }),
    );
  try {
    const where = await printed(/listening ((?:http\S+)|\{[^}]*\})/);
    const port = /port: (\d+)/.exec(where)?.[1];
    await within(
      30,
      `the check of ${name}`,
      check(new URL(port ? `http://127.0.0.1:${port}/` : where), printed),
    );
    child.kill("SIGTERM");
    expect(await within(20, `${name} to exit`, ended), 0);
    if (/error|warning/i.test(output.replace(/^.*listening.*$/gm, "")))
      throw new Error(`${name} printed:\n${output}`);
    const lines = readFileSync(path.join(root, "examples", name, "index.ts"), "utf8")
      .trimEnd()
      .split("\n").length;
    console.log(`${name}: ${lines} lines, works and exits after SIGTERM`);
  } finally {
    child.kill("SIGKILL");
  }
}

/** Runs a program with the installed launcher and checks its reply. */
async function checkProgram(name, interpreter, reply) {
  cpSync(path.join(root, "examples", "programs", name), path.join(own, name));
  chmodSync(path.join(own, name), 0o644);
  const { PATH } = process.env;
  const env = {
    PATH,
    HOME: own,
    SERVICE_CHANNELS_PICO_ENABLED: "true",
    SERVICE_CHANNELS_PICO_TOKEN: token,
  };
  const words = ["run", "-port", "0", "-no-browser", "--", interpreter, name];
  const program = path.join(project, "node_modules/.bin/doorward");
  const child = spawn(program, words, { cwd: own, env, stdio: ["ignore", "pipe", "inherit"] });
  try {
    let output = "";
    const where = new Promise((resolve) =>
      child.stdout.on("data", (more) => {
        output += more;
        const found = /Pico +(\S+)[^]*Files/.exec(output)?.[1];
        if (found) resolve(found);
      }),
    );
    const { connectTestClient } = await kit();
    const client = await connectTestClient(await within(30, `${name} to be served`, where), {
      token,
    });
    client.say("two words");
    let payload;
    do ({ payload } = await client.next());
    while (payload?.final !== true);
    expect(payload.content, reply);
    await client.close();
    child.kill("SIGTERM");
    expect((await once(child, "close"))[0], 0);
    console.log(`programs/${name}: replies, and exits with its launcher`);
  } finally {
    child.kill("SIGKILL");
  }
}

async function within(seconds, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`timed out after ${seconds} s waiting for ${what}`)),
      seconds * 1_000,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Finds an installed browser without windows, or one with windows. */
function findBrowser() {
  for (const name of ["chromium-headless-shell", "chromium", "google-chrome"]) {
    const found = process.env.PATH.split(":")
      .map((folder) => path.join(folder, name))
      .find((file) => existsSync(file));
    if (found) return found;
  }
  throw new Error("react-chat needs a browser: install chromium, or set TEST_BROWSER to its path");
}

/** Imports the test kit of the installed package. */
function kit() {
  const { resolve } = createRequire(path.join(project, "index.js"));
  return import(pathToFileURL(resolve("doorward/testing")).href);
}

async function echoOf(channel, options) {
  const { connectTestClient } = await kit();
  const client = await connectTestClient(channel, options);
  client.say("hello");
  const { payload } = await client.next("message.create");
  await client.close();
  return payload.content;
}

/** Runs the client example and returns the reply that it prints. */
async function clientOutput(channel) {
  const child = spawn(process.execPath, ["built/client/index.js"], {
    cwd: project,
    env: { PATH: process.env.PATH, PICO_URL: channel.href },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  try {
    let output = "";
    for await (const chunk of child.stdout) {
      output += chunk;
      if (String(chunk).includes("they said")) child.kill("SIGTERM");
    }
    expect((await ended)[0], 0);
    return /they said .*/.exec(output)?.[0];
  } finally {
    child.kill("SIGKILL");
  }
}

/** Returns the status of a rejected handshake. */
async function rejection(channel, options) {
  const { connectTestClient } = await kit();
  return connectTestClient(channel, options).then(
    () => "nothing",
    ({ details }) => details.status,
  );
}

async function text(url) {
  return (await fetch(url, { headers: { connection: "close" } })).text();
}

function expect(seen, expected) {
  if (expected instanceof RegExp ? expected.test(seen) : seen === expected) return;
  throw new Error(`expected ${expected}, received ${seen}`);
}
