import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  symlink,
} from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { WebSocket } from "ws";
import { findTool } from "../support/tools.ts";
import { connectTestClient } from "../../testkit/index.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

/* Compiles the examples against the built package and runs each in its own process. */

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);
const python = findTool("python");
let built: string;
const children: ChildProcess[] = [];
/** Resolves with exit code and signal after all output was received. */
const ends = new WeakMap<
  ChildProcess,
  Promise<[code: number | null, signal: NodeJS.Signals | null]>
>();
const ended = (child: ChildProcess) => ends.get(child)!;

beforeAll(async () => {
  // A folder inside the package, so that `doorward/…` resolves to this package.
  built = await mkdtemp(join(root, "dist", "examples-"));
  const tsc = join(
    dirname(createRequire(import.meta.url).resolve("typescript/package.json")),
    "bin",
    "tsc",
  );
  const compiled = run(process.execPath, [tsc, "-p", "examples", "--outDir", built], { cwd: root });
  await compiled.catch((error: { stdout?: string }) => {
    throw new Error(`the examples do not compile:\n${error.stdout}`);
  });
});
afterAll(async () => {
  for (const child of children) if (child.exitCode === null) child.kill("SIGKILL");
  await rm(built, { recursive: true, force: true });
});

function start(args: readonly string[], env: NodeJS.ProcessEnv = {}, cwd = root): ChildProcess {
  const stdio = ["ignore", "pipe", "pipe"] as const;
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: [...stdio],
  });
  children.push(child);
  ends.set(child, once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>);
  return child;
}

/** Resolves with the first matching output; rejects with all output if the process exits first. */
function waitForOutput(child: ChildProcess, pattern: RegExp): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    let all = "";
    const hear = (chunk: Buffer): void => {
      all += chunk.toString();
      const found = pattern.exec(all.slice(0, all.lastIndexOf("\n") + 1)); // complete lines only
      if (found) resolve(found);
    };
    child.stdout!.on("data", hear);
    child.stderr!.on("data", hear);
    child.once("close", (code) => reject(new Error(`ended with ${code} after:\n${all}`)));
  });
}

describe("examples", () => {
  test("embed the channel in a server of the host", async () => {
    const child = start([join(built, "embed.js")], { PORT: "0" });
    const [, port] = await waitForOutput(child, /port: (\d+)/);
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("my own site");

    const headers = { Authorization: "Bearer correct-horse-battery-staple" };
    const socket = new WebSocket(`ws://127.0.0.1:${port}/pico?session_id=s1`, { headers });
    socket.once("open", () =>
      socket.send(JSON.stringify({ type: "message.send", payload: { content: "hello" } })),
    );
    const [data] = (await once(socket, "message")) as [Buffer];
    expect(JSON.parse(data.toString())).toMatchObject({
      type: "message.create",
      session_id: "s1",
      payload: { content: "you said hello" },
    });

    child.kill("SIGTERM");
    const [code, reason] = (await once(socket, "close")) as [number, Buffer];
    expect([code, reason.toString()]).toEqual([1001, expect.stringContaining("going_away")]);
    expect(await ended(child)).toEqual([0, null]);
  });

  test("connect to a channel without opening a port", async () => {
    const host = start([join(built, "embed.js")], { PORT: "0" });
    const [, port] = await waitForOutput(host, /port: (\d+)/);
    const child = start([join(built, "client.js")], { PICO_URL: `ws://127.0.0.1:${port}/pico` });
    expect((await waitForOutput(child, /they said .*/))[0]).toBe("they said you said hello");
    child.kill("SIGTERM");
    expect(await ended(child)).toEqual([0, null]);
    host.kill("SIGTERM");
    expect(await ended(host)).toEqual([0, null]);
  });

  test("use the client library and exit when stopped", async () => {
    const host = start([join(built, "embed.js")], { PORT: "0" });
    const [, port] = await waitForOutput(host, /port: (\d+)/);
    const channel = {
      PICO_URL: `ws://127.0.0.1:${port}/pico`,
      PICO_TOKEN: "correct-horse-battery-staple",
    };
    const child = start([join(built, "chat.js")], channel);
    expect((await waitForOutput(child, /reply: .*/))[0]).toBe("reply: you said hello");
    child.kill("SIGTERM");
    expect(await ended(child)).toEqual([0, null]);
    host.kill("SIGTERM");
    expect(await ended(host)).toEqual([0, null]);
  });

  test("raise the alarm at the configured number of failed sign-ins", async () => {
    const child = start([join(built, "alarm.js")]);
    expect((await waitForOutput(child, /alarm: .*\n/))[0]).toMatch(
      /^alarm: 127\.0\.0\.1 was refused 2 times/,
    );
    expect(await ended(child)).toEqual([0, null]);
  });

  test.for([
    ["echo.py", python, "you said two words"],
    ["words.sh", "bash", "two words: 2 words"],
    ["stream.mjs", process.execPath, "You asked: two words."],
  ] as const)("run the program %s as a handler of the launcher", async (example, { skip }) => {
    const [name, interpreter, answer] = example;
    if (interpreter === undefined) return skip("needs Python");
    const home = await mkdtemp(join(tmpdir(), "doorward-programs-"));
    try {
      const channel = {
        SERVICE_CHANNELS_PICO_ENABLED: "true",
        SERVICE_CHANNELS_PICO_TOKEN: "correct-horse-battery-staple",
      };
      const program = join(root, "dist", "bin", "doorward.js");
      // A checkout may be writable by a group, but only files of the owner are run.
      await copyFile(join(root, "examples", "programs", name), join(home, name));
      await chmod(join(home, name), 0o644);
      const words = ["run", "-port", "0", "-no-browser", "--", interpreter, join(home, name)];
      const child = start([program, ...words], { SERVICE_HOME: join(home, "s"), ...channel }, home);
      const [, address] = await waitForOutput(child, /Pico +(\S+)[^]*Files/);
      await using client = await connectTestClient(address!, {
        token: channel.SERVICE_CHANNELS_PICO_TOKEN,
      });
      client.say("two words");
      let payload: Readonly<Record<string, unknown>> | undefined;
      do ({ payload } = await client.next());
      while (payload?.["final"] !== true);
      expect(payload["content"]).toBe(answer);
      child.kill("SIGTERM");
      expect(await ended(child)).toEqual([0, null]);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });

  test("keep programs short and equal to docs/programs.md", async () => {
    const folder = join(root, "examples", "programs");
    for (const name of await readdir(folder)) {
      expect(
        (await readFile(join(folder, name), "utf8")).trimEnd().split("\n").length,
        name,
      ).toBeLessThan(25);
    }
    const page = await readFile(join(root, "docs", "programs.md"), "utf8");
    const [, file, code] = /<!-- (examples\/[\w/-]+\.py) -->\n+```python\n([^]*?)```/.exec(page)!;
    expect(code).toBe(await readFile(join(root, file!), "utf8"));
  });

  test("implement every channel rule in the UDP channel", async () => {
    await run(process.execPath, ["--test", "examples/channel-udp/udp.test.js"], {
      cwd: root,
      timeout: 60_000,
    });
  });

  test("implement every channel rule in the Telegram channel", async () => {
    const packages = join(built, "node_modules");
    await mkdir(packages);
    await symlink(root, join(packages, "doorward"), "junction");
    const folder = join(built, "channel-telegram");
    await cp(join(root, "examples", "channel-telegram"), folder, { recursive: true });
    await run(process.execPath, ["--test"], { cwd: folder, timeout: 60_000 });
  });

  test("match the code blocks of the pages", async () => {
    const page = await readFile(join(root, "docs", "write-a-channel.md"), "utf8");
    const files = [...page.matchAll(/<!-- (examples\/\S+) -->\n+```js\n([^]*?)```/g)];
    expect(files.map(([, file]) => file)).toEqual([
      "examples/channel-udp/udp.js",
      "examples/channel-udp/udp.test.js",
    ]);
    for (const [, file, code] of files)
      expect(code, file).toBe(await readFile(join(root, file!), "utf8"));

    const shown = await Promise.all(
      ["README.md", "docs/python.md", "docs/plugins.md"].map(async (name) =>
        [
          ...(await readFile(join(root, name), "utf8")).matchAll(
            /<!-- (examples\/[\w/-]+\.(?:ts|py|mjs)) -->\n+```\w+\n([^]*?)```/g,
          ),
        ].map(([, file, code]) => ({ file, code })),
      ),
    );
    expect(shown.flat().map(({ file }) => file)).toEqual([
      "examples/agent.py",
      "examples/programs/echo.py",
      "examples/ask.py",
      "examples/chat.ts",
      "examples/embed.ts",
      "examples/agent.py",
      "examples/agent.mjs",
      "examples/plugin.ts",
    ]);
    for (const { file, code } of shown.flat())
      expect(code, file).toBe(await readFile(join(root, file!), "utf8"));
  });
});
