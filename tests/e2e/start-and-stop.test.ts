// Tests start, stop and startup errors of the built program.
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { enablePico, finishSetup, spawnLauncher, startLauncher } from "./launcher.ts";

const made: string[] = [];
afterEach(async () => {
  for (const folder of made.splice(0)) await rm(folder, { recursive: true, force: true });
});

/** Creates a home with the given files. */
async function homeWith(files: Readonly<Record<string, string>>): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "doorward-files-"));
  made.push(home);
  await mkdir(join(home, "s"), { mode: 0o700 });
  for (const [name, text] of Object.entries(files))
    await writeFile(join(home, "s", name), text, { mode: 0o600 });
  return join(home, "s");
}

async function refusal(env: Record<string, string>, args = ["-console", "-port", "0"]) {
  await using launcher = await spawnLauncher({ args, env });
  const { code } = await launcher.ended;
  const sentences = launcher
    .stderr()
    .split("\n")
    .filter((line) => line.startsWith("doorward: "));
  return { code, sentences, all: launcher.stderr() + launcher.stdout() };
}

describe("doorward with an invalid start", () => {
  it("names the port in use and the option to change it", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((ready) => other.once("listening", ready));
    const { port } = other.address() as AddressInfo;
    const { code, sentences } = await refusal({}, ["-console", "-port", String(port)]);
    other.close();
    expect(code).toBe(1);
    expect(sentences).toHaveLength(1);
    expect(sentences[0]).toMatch(new RegExp(`port ${port} is in use.*-port`));
  });

  it.each(["launcher-config.json", "config.json", ".security.yml"])(
    "names a pipe in place of %s without waiting for its writer",
    async (name) => {
      const home = await homeWith({});
      execFileSync("mkfifo", [join(home, name)]);
      const { code, sentences } = await refusal({ SERVICE_HOME: home });
      expect(code).toBe(1);
      expect(sentences).toEqual([
        `doorward: ${join(home, name)} cannot be read: it is not a regular file.`,
      ]);
    },
  );

  it("names the home that is not writable", async () => {
    const home = await homeWith({ occupied: "a file" });
    const { code, sentences } = await refusal({ SERVICE_HOME: join(home, "occupied") });
    expect(code).toBe(1);
    expect(sentences).toHaveLength(1);
    expect(sentences[0]).toContain(join(home, "occupied"));
  });

  it.each([
    [
      "launcher-config.json",
      '{\n  "port": 1,\n  "launcher_token" "x"\n}',
      /launcher-config\.json, line 3, column \d+: expected/,
    ],
    ["config.json", '{ "channels": ', /config\.json, line 1, column \d+: expected/],
    [
      ".security.yml",
      "channels:\n  pico:\n   - token: [\n",
      /\.security\.yml, line \d+, column \d+: expected/,
    ],
  ])("names file, line and column of a corrupt %s", async (name, text, sentence) => {
    const home = await homeWith({
      "config.json": '{"channels":{"pico":{"enabled":true}}}',
      [name]: text,
    });
    const { code, sentences } = await refusal({ SERVICE_HOME: home });
    expect(code).toBe(1);
    expect(sentences).toHaveLength(1);
    expect(sentences[0]).toMatch(sentence);
    expect(await readFile(join(home, name), "utf8")).toBe(text);
  });

  it("names a guessable token if other machines can connect", async () => {
    const env = { SERVICE_LAUNCHER_TOKEN: "1234567" };
    const { code, sentences, all } = await refusal(env, ["-public", "-port", "0", "-no-browser"]);
    expect([code, sentences]).toEqual([
      1,
      [expect.stringMatching(/launcher token \(source: env\).*127\.0\.0\.1/)],
    ]);
    expect(all).not.toContain("1234567");
    await using launcher = await startLauncher({ env });
    expect((await fetch(new URL("/healthz", launcher.base))).status).toBe(200);
  });

  it("explains where to set and how to create a channel token", async () => {
    const home = await homeWith({ "config.json": '{"channels":{"pico":{"enabled":true}}}' });
    const { code, sentences } = await refusal({ SERVICE_HOME: home });
    expect(code).toBe(1);
    expect(sentences).toHaveLength(1);
    for (const place of [
      "SERVICE_CHANNELS_PICO_TOKEN",
      ".security.yml",
      "config.json",
      "openssl rand -hex 32",
    ]) {
      expect(sentences[0]).toContain(place);
    }
  });

  it.each([
    [
      "a misspelt key",
      { "config.json": '{"channels":{"pico":{"allow_origin":[]}}}' },
      /allow_origin.*Did you mean "allow_origins"/,
    ],
    [
      "a value of the wrong kind",
      { "config.json": '{"channels":{"pico":{"max_connections":"many"}}}' },
      /channels\.pico\.max_connections/,
    ],
    ["an impossible value", { "launcher-config.json": '{"session_days":-1}' }, /session_days/],
    ["an unknown handler", { "config.json": '{"handler":"ehco"}' }, /"handler" must be "echo"/],
  ])("names %s", async (_, files, sentence) => {
    const { code, sentences } = await refusal({ SERVICE_HOME: await homeWith(files) });
    expect(code).toBe(1);
    expect(sentences).toHaveLength(1);
    expect(sentences[0]).toMatch(sentence);
  });

  it("shows the stack only with -debug", async () => {
    const home = await homeWith({ "launcher-config.json": '{"session_days":-1}' });
    for (const [args, stack] of [
      [["-port", "0"], false],
      [["-debug", "-port", "0"], true],
    ] as const) {
      const { code, all } = await refusal({ SERVICE_HOME: home }, [...args]);
      expect([code, /^ {4}at /m.test(all)]).toEqual([1, stack]);
    }
  });

  it("explains why a required tray is missing", async () => {
    const { code, sentences } = await refusal({}, ["-tray", "-port", "0"]);
    expect(code).toBe(1);
    expect(sentences).toEqual([expect.stringMatching(/tray cannot be shown.*DISPLAY/)]);
  });

  it.each([
    ["-workers", ["-workers", "4"], {}, {}],
    ["-workers", ["run", "-workers=1", "--", "cat"], {}, {}],
    ["SERVICE_WORKERS", ["-port", "0"], { SERVICE_WORKERS: "2" }, {}],
    ['"workers" in HOME/launcher-config.json', ["-port", "0"], {}, { workers: 1 }],
  ])("says that nodes replace %s", async (place, args, env, file) => {
    const home = await homeWith({ "launcher-config.json": JSON.stringify(file) });
    const { code, sentences } = await refusal({ SERVICE_HOME: home, ...env }, args);
    expect(code).toBe(1);
    expect(sentences).toEqual([
      `doorward: Remove ${place.replace("HOME", home)}: several processes are containers or ` +
        "services that share Redis, as docs/scaling.md shows.",
    ]);
  });

  it("names the invalid environment variable", async () => {
    const { code, sentences } = await refusal({ SERVICE_CHANNELS_PICO_MAX_CONNECTIONS: "lots" });
    expect(code).toBe(1);
    expect(sentences).toEqual([
      expect.stringContaining("SERVICE_CHANNELS_PICO_MAX_CONNECTIONS must be a whole number"),
    ]);
  });
});

describe("Command line", () => {
  it("rejects an unknown option with 2 and suggests the closest", async () => {
    const { code, sentences } = await refusal({}, ["-consol"]);
    expect(code).toBe(2);
    expect(sentences).toEqual([expect.stringMatching(/"-consol".*Did you mean "-console"/)]);
  });

  it.each([
    ["-version", /^\d+\.\d+\.\d+\n$/],
    ["--version", /^\d+\.\d+\.\d+\n$/],
    ["-help", /^Usage: doorward/],
  ])("answers %s", async (flag, text) => {
    await using launcher = await spawnLauncher({ args: [flag] });
    expect(await launcher.ended).toEqual({ code: 0, signal: null });
    expect(launcher.stdout()).toMatch(text);
  });

  it("reads a configuration file elsewhere and keeps the home", async () => {
    const home = await homeWith({});
    const elsewhere = join(
      await homeWith({ "mine.json": '{"channels":{"pico":{"max_connections":3}}}' }),
      "mine.json",
    );
    await using launcher = await startLauncher({
      args: [elsewhere, "--console", "-port=0"],
      env: { SERVICE_HOME: home },
    });
    const cookie = await finishSetup(launcher);
    await enablePico({ ...launcher, home }, cookie);
    expect(JSON.parse(await readFile(elsewhere, "utf8")).channels.pico).toEqual({
      max_connections: 3,
      enabled: true,
    });
    expect((await readdir(home)).sort()).toEqual(
      expect.arrayContaining([".security.yml", "launcher-config.json"]),
    );
    expect(await readdir(home)).not.toContain("config.json");
  });
});

describe("Log of the built program", () => {
  it("uses a readable format at a terminal", async () => {
    const terminal = "data:text/javascript,process.stderr.isTTY = true;";
    await using launcher = await startLauncher({ nodeArgs: ["--import", terminal] });
    launcher.child.kill("SIGTERM");
    await launcher.ended;
    expect(launcher.stderr()).toMatch(/\[\d\d:\d\d:\d\d\].*INFO.*stopping/);
  });

  it("uses JSON lines elsewhere", async () => {
    await using launcher = await startLauncher();
    launcher.child.kill("SIGTERM");
    await launcher.ended;
    const lines = launcher
      .stderr()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { msg: string });
    expect(lines.map(({ msg }) => msg)).toContain("stopping");
  });
});

describe("Token from the environment", () => {
  const secret = "environment-token-0123456789-abcdef";

  it("reaches no file, output or child process", async () => {
    const home = await homeWith({});
    const seen = join(home, "..", "child-environment");
    const opener = join(home, "..", "opener.sh");
    await writeFile(opener, `#!/bin/sh\nenv > ${seen}\n`, { mode: 0o755 });
    await using launcher = await startLauncher({
      env: {
        SERVICE_HOME: home,
        SERVICE_LAUNCHER_TOKEN: secret,
        SERVICE_CHANNELS_PICO_TOKEN: `${secret}-pico`,
        BROWSER: opener,
      },
    });
    expect(launcher.stdout()).toContain("source: env");
    const answer = await fetch(new URL("/api/status", launcher.base), {
      headers: { authorization: `Bearer ${secret}` },
    });
    expect(answer.status).toBe(200);
    // A program that opens a page may take longer than the start.
    await expect.poll(() => readFile(seen, "utf8").catch(() => "")).toContain("SERVICE_HOME");
    const files = (await readdir(home, { recursive: true, withFileTypes: true })).filter((entry) =>
      entry.isFile(),
    );
    const texts = await Promise.all(
      files.map((entry) => readFile(join(entry.parentPath, entry.name), "utf8")),
    );
    for (const text of [
      ...texts,
      launcher.stdout(),
      launcher.stderr(),
      await readFile(seen, "utf8"),
      await answer.text(),
    ]) {
      expect(text).not.toContain(secret);
    }
    expect(texts.join()).not.toContain("launcher_token");
  });
});

describe("Shutdown", () => {
  it.each(["SIGINT", "SIGTERM"] as const)("closes clients cleanly after %s", async (signal) => {
    await using launcher = await startLauncher();
    const cookie = await finishSetup(launcher);
    const token = await enablePico(launcher, cookie);
    const socket = new WebSocket(new URL("/pico", launcher.base), [`token.${token}`]);
    await new Promise((open, failed) => socket.once("open", open).once("error", failed));
    const closed = new Promise<number>((done) => socket.once("close", done));
    const started = performance.now();
    launcher.child.kill(signal);
    expect(await launcher.ended).toEqual({ code: 0, signal: null });
    expect(performance.now() - started).toBeLessThan(6_800 + 10_000); // its own bound, and a slow machine
    expect(launcher.stderr()).not.toContain("did not stop in time");
    expect(await closed).toBe(1001);
  });
});
