// Installs coding agents of other people, and runs each behind Doorward with a model on this
// machine, without accounts and without a network:
//
//   npm run build && node tests/clients/agents/run.mjs [--write] [--screenshots]
//     [--installed FOLDER] [NAME...]
//
// `--write` puts the agents that were run into the table of docs/agents.md. `--installed` names a
// folder whose `node_modules` has the packages. `--screenshots` writes screenshots of each question into
// docs/images, with the browser of `TEST_BROWSER` or an installed Chromium. The exit code is 1 if a step of an agent fails.
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { connect } from "../../../dist/lib/pico-link/client.js";
import { startModel } from "./fake-model.mjs";
import { takeScreenshots } from "./screenshots.mjs";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const page = join(root, "docs/agents.md");
const token = "correct-horse-battery-staple";
const launcherToken = "launcher-token-00000000000000000000";
const stepMs = 300_000;

/** The agents: their packages, and how they find the model. */
const agents = {
  opencode: {
    title: "OpenCode",
    packages: ["opencode-linux-x64-baseline@1.18.33"],
    command: (modules) => [join(modules, "opencode-linux-x64-baseline/bin/opencode"), "acp"],
    env: (_, work) => ({
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_CONFIG: join(work, "opencode.json"),
    }),
    files: (url) => ({
      "opencode.json": {
        model: "fake/fake",
        small_model: "fake/fake",
        provider: {
          fake: {
            npm: "@ai-sdk/openai-compatible",
            options: { baseURL: `${url}/v1`, apiKey: "x" },
            models: { fake: { name: "Fake" } },
          },
        },
        permission: { bash: "ask", edit: "ask" },
      },
    }),
  },
  gemini: {
    title: "Gemini CLI",
    packages: ["@google/gemini-cli@0.61.0"],
    command: (modules) => ["node", join(modules, "@google/gemini-cli/bundle/gemini.js"), "--acp"],
    env: (url) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: "x" }),
    files: () => ({
      ".gemini/settings.json": {
        security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
        privacy: { usageStatisticsEnabled: false },
      },
    }),
  },
  claude: {
    title: "Claude Code",
    packages: ["@agentclientprotocol/claude-agent-acp@0.101.0", "node@22"],
    needsUser: true,
    command: (modules) => [
      join(modules, "node/bin/node"),
      join(modules, "@agentclientprotocol/claude-agent-acp/dist/index.js"),
    ],
    env: (url) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "x",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    }),
    files: () => ({}),
  },
};

/** Rejects if a step takes too long. The rejection is the caller's, also if it comes early. */
function within(promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    const text = `${what}: longer than ${stepMs / 1_000} s`;
    timer = setTimeout(() => reject(new Error(text)), stepMs).unref();
  });
  const first = Promise.race([promise, late]).finally(() => clearTimeout(timer));
  first.catch(() => undefined);
  return first;
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts Doorward with the agent, and waits until it listens. */
async function startDoorward({ home, work, command, env, port, user }) {
  const args = [join(root, "dist/bin/doorward.js"), "run", "-acp", "-no-tray", "-no-browser"];
  const child = spawn(process.execPath, [...args, "-port", `${port}`, "--", ...command], {
    cwd: work,
    env: {
      PATH: process.env.PATH,
      HOME: work,
      SERVICE_HOME: home,
      SERVICE_CHANNELS_PICO_ENABLED: "true",
      SERVICE_CHANNELS_PICO_TOKEN: token,
      SERVICE_LAUNCHER_TOKEN: launcherToken,
      ...env,
    },
    ...user,
  });
  let output = "";
  const listening = new Promise((resolve, reject) => {
    const add = (part) => {
      output += part;
      if (output.includes("Dashboard")) resolve();
    };
    child.stdout.on("data", add);
    child.stderr.on("data", add);
    child.on("exit", () => reject(new Error(`Doorward exited: ${output.slice(-2_000)}`)));
  });
  await within(listening, "start");
  return { child, output: () => output };
}

/** A client that notes what it sees. */
function openChat(port, seen) {
  return connect({
    url: `ws://127.0.0.1:${port}/pico`,
    token,
    sessionId: "agent",
    onMessage: ({ content }) => void (seen.text += content),
    onUpdate: ({ content }) => void (seen.text += content),
    onQuestion: (question) => {
      if (question.settled) return;
      seen.question = question;
      seen.asked?.(question);
    },
    onEnd: (end) => seen.ended?.(end),
    onError: ({ message }) => seen.ended?.({ outcome: "failed", message }),
  });
}

/** The steps of the table. Each throws if the agent or Doorward does something else. */
async function runSteps({ port, start, work, passed, asked }) {
  const seen = { text: "" };
  let doorward = await start();
  let chat = openChat(port, seen);
  const begin = async (text) => {
    seen.text = "";
    const ended = new Promise((resolve) => void (seen.ended = resolve));
    const asked = new Promise((resolve) => void (seen.asked = resolve));
    await within(chat.send(text).accepted, "acceptance");
    return { ended: within(ended, text), asked: within(asked, text) };
  };
  const expect = (isTrue, what) => {
    if (!isTrue)
      throw new Error(
        `${what}. Shown: ${seen.text.slice(-300)}. ${doorward.output().slice(-1_500)}`,
      );
  };
  const choose = async (effect) => {
    const option = seen.question.options.find((one) => one.effect === effect && !one.lasting);
    await chat.answer(seen.question.id, { option: option.id });
  };
  const file = join(work, "out.txt");
  try {
    let turn = await begin("hello");
    expect((await turn.ended).outcome === "completed", "the first answer did not complete");
    expect(seen.text.includes("Hello"), "no text");
    passed("text");

    turn = await begin("please run-tool");
    await turn.asked;
    await asked();
    await choose("deny");
    await turn.ended;
    expect(!existsSync(file), "a denied command ran");
    passed("denied");

    turn = await begin("now run-tool");
    await turn.asked;
    await choose("allow");
    expect((await turn.ended).outcome === "completed", "the allowed answer did not complete");
    expect(existsSync(file), "an allowed command did not run");
    passed("allowed");

    turn = await begin("again run-tool");
    await turn.asked;
    await chat.stop();
    expect((await turn.ended).outcome === "stopped", "a stop while asking did not stop");
    passed("stopped while asking");

    turn = await begin("slow please");
    for (let at = 0; at < 200 && !/\d \d/.test(seen.text); at += 1)
      await new Promise((done) => setTimeout(done, 50));
    await chat.stop();
    expect((await turn.ended).outcome === "stopped", "a stop while working did not stop");
    passed("stopped while working");

    const exited = new Promise((resolve) => void doorward.child.once("exit", resolve));
    doorward.child.kill("SIGKILL");
    await exited;
    chat.close();
    doorward = await start();
    chat = openChat(port, seen);
    turn = await begin("hello again");
    expect((await turn.ended).outcome === "completed", "no answer after SIGKILL");
    expect(!seen.text.includes("has forgotten"), "the agent has forgotten the session");
    passed("continues after SIGKILL");
  } finally {
    chat.close();
    doorward.child.kill("SIGTERM");
  }
}

/** An ordinary user for agents that refuse to work for root. */
const ordinaryUser = () => (process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined);

async function runAgent(name, agent, installed) {
  const folder = await mkdtemp(join(tmpdir(), `doorward-${name}-`));
  const [home, work] = [join(folder, "home"), join(folder, "work")];
  for (const path of [home, work]) await mkdir(path, { mode: 0o700 });
  const model = await startModel();
  const steps = [];
  let failure;
  try {
    const modules = join(installed ?? folder, "node_modules");
    if (installed === undefined) {
      const words = ["install", "--no-audit", "--no-fund", "--prefix", folder, ...agent.packages];
      const { status, stderr } = spawnSync("npm", words, { encoding: "utf8" });
      if (status !== 0) throw new Error(`npm install: ${stderr.slice(-1_000)}`);
    }
    for (const [path, value] of Object.entries(agent.files(model.url, work))) {
      await mkdir(join(work, path, ".."), { recursive: true });
      await writeFile(join(work, path), JSON.stringify(value));
    }
    const user = agent.needsUser ? ordinaryUser() : undefined;
    if (user) {
      await chmod(folder, 0o755);
      spawnSync("chown", ["-R", `${user.uid}:${user.gid}`, folder]);
    }
    const port = await freePort();
    const env = agent.env(model.url, work);
    const command = agent.command(modules);
    const start = () => startDoorward({ home, work, command, env, port, user });
    const url = `http://127.0.0.1:${port}/`;
    const images = join(root, "docs/images");
    const shown = { url, launcherToken, title: "hello", name, folder: images };
    const asked = async () => void (values.screenshots && (await takeScreenshots(shown)));
    await runSteps({ port, start, work, passed: (step) => steps.push(step), asked });
  } catch (error) {
    failure = error;
  } finally {
    model.stop();
    await rm(folder, { recursive: true, force: true });
  }
  const version = agent.packages[0].split("@").at(-1);
  console.log(`${failure ? "failed" : "ok    "} ${agent.title} ${version}: ${steps.join(", ")}`);
  if (failure) console.log(failure.message);
  return { name, title: agent.title, version, steps, failure };
}

const { values, positionals } = parseArgs({
  options: {
    write: { type: "boolean" },
    screenshots: { type: "boolean" },
    installed: { type: "string" },
  },
  allowPositionals: true,
});
const names = positionals.length > 0 ? positionals : Object.keys(agents);
const results = [];
for (const name of names) results.push(await runAgent(name, agents[name], values.installed));

if (values.write) {
  const begin = "<!-- agents -->";
  const end = "<!-- end of agents -->";
  const text = await readFile(page, "utf8");
  const [before, rest] = text.split(begin);
  const [table, after] = rest.split(end);
  const ran = results.filter(({ steps }) => steps.length > 0);
  const kept = table
    .split("\n")
    .filter((line) => line.startsWith("|") && !/^\| (Agent |---|-)/.test(line))
    .filter((line) => !ran.some(({ title }) => line.startsWith(`| ${title} `)));
  const rows = ran.map(
    ({ title, version, steps }) => `| ${title} | ${version} | ${steps.join(", ")} |`,
  );
  const head = ["| Agent | Version | Works |", "| --- | --- | --- |"];
  const lines = [...head, ...[...kept, ...rows].sort()];
  await writeFile(page, `${before}${begin}\n\n${lines.join("\n")}\n\n${end}${after}`);
}
process.exit(results.some(({ failure }) => failure) ? 1 : 0);
