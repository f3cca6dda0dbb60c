// Runs `doorward service` with a service manager that records its calls.
import { execFileSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { service } from "../../../bin/commands/service.ts";
import { withCommandLine, type CommandLine } from "../../support/command-context.ts";

interface Recorder {
  /** Folder with the recording program, for PATH. */
  readonly bin: string;
  /** Returns the calls since the last time. */
  calls(): Promise<string[]>;
  /** The failure of the program. */
  behave(script: string): Promise<void>;
}

/** A program of the service manager that records its arguments and environment. */
async function withRecorder(
  program: string,
  visit: (cli: CommandLine, recorder: Recorder) => Promise<void>,
  env: Record<string, string> = {},
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "doorward-service-"));
  try {
    const path = join(folder, program);
    const log = join(folder, "calls");
    const behave = async (script: string): Promise<void> => {
      const head = `#!/bin/sh\necho "$*" >>"${log}"\nenv >>"${log}.env"\n`;
      await writeFile(path, `${head}${script}\n`);
      await chmod(path, 0o755);
    };
    await behave("exit 0");
    const recorder: Recorder = {
      bin: folder,
      behave,
      async calls() {
        const text = await readFile(log, "utf8").catch(() => "");
        await rm(log, { force: true });
        return text.split("\n").filter(Boolean);
      },
    };
    const all = { HOME: folder, PATH: `${folder}:/usr/bin:/bin`, ...env };
    await withCommandLine((cli) => visit(cli, recorder), all);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const unitOf = async (cli: CommandLine): Promise<string> =>
  (await cli.run("service status -json")).json().file as string;

describe("doorward service install", () => {
  test("writes the unit and starts it, and changes nothing the second time", () =>
    withRecorder("systemctl", async (cli, { calls }) => {
      const first = await cli.run("service install");
      expect(first).toMatchObject({ code: 0, out: expect.stringContaining("is installed") });
      const file = await unitOf(cli);
      const name = file.split("/").at(-1)!;
      expect(name).toMatch(/^doorward-[0-9a-f]{8}\.service$/);
      expect(await calls()).toEqual([
        "--user show --property=Version",
        expect.stringContaining(`--user show ${name}`),
        "--user daemon-reload",
        `--user enable ${name}`,
        `--user restart ${name}`,
        expect.stringContaining(`--user show ${name}`),
      ]);
      const text = await readFile(file, "utf8");
      expect(text).toContain(`Environment="SERVICE_HOME=${cli.home}"`);
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      const { mtimeMs } = await stat(file);
      const second = await cli.run("service install -json");
      expect(second.json()).toMatchObject({ result: "already installed", file });
      expect(await calls()).toContain(`--user start ${name}`);
      expect((await stat(file)).mtimeMs).toBe(mtimeMs);
    }));

  test("stores what it found, and the doctor compares it with now", () =>
    withRecorder("systemctl", async (cli, { bin }) => {
      const agent = join(bin, "agent");
      await writeFile(agent, "#!/bin/sh\n", { mode: 0o755 });
      await cli.write("config.json", { handler: { command: ["agent"] } });
      const { said } = await cli.run("service install");
      expect(said).toContain(`It starts the program ${agent}.`);
      expect(said).toContain(`PATH: ${bin}:/usr/bin:/bin`);
      const checkOf = async (): Promise<unknown> => {
        const { checks } = (await cli.run("doctor -json")).json();
        return checks.find(({ id }: { id: string }) => id === "service");
      };
      expect(await checkOf()).toMatchObject({ result: "ok" });
      const found = join(cli.home, "state", "service.json");
      const stored = await readFile(found, "utf8");
      const edit = (change: object): Promise<void> =>
        writeFile(found, JSON.stringify({ ...JSON.parse(stored), ...change }));
      await edit({ variables: { PATH: "/nowhere" } });
      expect(await checkOf()).toMatchObject({ result: "failed", fix: "doorward service install" });
      await edit({ node: "/nowhere/node" });
      expect(await checkOf()).toMatchObject({ reason: expect.stringContaining("/nowhere/node") });
      await edit({ program: "/old/agent" });
      expect(await checkOf()).toMatchObject({ reason: expect.stringContaining("/old/agent") });
      await edit({ user: "another" });
      expect(await checkOf()).toMatchObject({ result: "warning" });
    }));

  test("shows restarts and the last lines without secrets", () =>
    withRecorder("systemctl", async (cli, { bin, behave }) => {
      await cli.run("service install");
      await behave("printf 'ActiveState=active\\nSubState=running\\nNRestarts=2\\n'");
      const token = "a".repeat(43);
      const said = [`launcher token (first run): ${token}`, "doorward: the port is in use"];
      const journal = `#!/bin/sh\nprintf '%s\\n' ${said.map((line) => `'${line}'`).join(" ")}\n`;
      await writeFile(join(bin, "journalctl"), journal, { mode: 0o755 });
      const { out } = await cli.run("service status");
      expect(out).toMatch(/^Restarts +2 after a failure$/m);
      expect(out).toContain("doorward: the port is in use");
      expect(out).not.toContain(token);
      expect(out).not.toMatch(/^File /m);
    }));

  test("renews a unit that differs", () =>
    withRecorder("systemctl", async (cli, { calls }) => {
      await cli.run("service install");
      const file = await unitOf(cli);
      const before = await readFile(file, "utf8");
      await writeFile(file, before.replace("-no-browser", "-console"));
      const status = await cli.run("service status");
      expect(status.out).toMatch(/^File +differs from what this doorward/m);
      await calls();
      await cli.run("service install");
      expect(await readFile(file, "utf8")).toBe(before);
      expect((await calls()).some((call) => call.startsWith("--user restart"))).toBe(true);
    }));

  test("keeps tokens out of files, output and the service manager", () =>
    withRecorder(
      "systemctl",
      async (cli, { bin }) => {
        const { said, out } = await cli.run("service install");
        expect(said).toContain("SERVICE_LAUNCHER_TOKEN, SERVICE_LAUNCHER_PORT");
        const unit = await readFile(await unitOf(cli), "utf8");
        const seen = await readFile(join(bin, "calls.env"), "utf8");
        for (const text of [unit, said, out, seen]) expect(text).not.toContain("correct-horse");
        expect(seen).toContain("SERVICE_LAUNCHER_PORT=18801");
      },
      { SERVICE_LAUNCHER_TOKEN: "correct-horse-battery-staple", SERVICE_LAUNCHER_PORT: "18801" },
    ));

  test("prints the unit and the commands, and does nothing", () =>
    withRecorder("systemctl", async (cli, { calls }) => {
      const { out, code } = await cli.run("service install -print");
      expect(code).toBe(0);
      expect(out).toMatch(/^# Writes .*\.service\n# Written by/);
      expect(out).toMatch(/^# Runs systemctl --user enable doorward-/m);
      expect(await calls()).toEqual([]);
      expect(await cli.run("service install -print -json").then((run) => run.json())).toMatchObject(
        { content: expect.stringContaining("[Service]"), commands: expect.any(Array) },
      );
      expect((await cli.run("service status -json")).json()).toMatchObject({ installed: false });
    }));

  test("explains an absent systemd session and writes nothing", () =>
    withRecorder("systemctl", async (cli, { behave, calls }) => {
      await behave('echo "Failed to connect to bus" >&2; exit 1');
      await expect(cli.run("service install")).rejects.toThrow(
        /has no systemd session.*enable-linger.*docs\/deploy\.md/,
      );
      expect(await calls()).toEqual(["--user show --property=Version"]);
      expect((await cli.run("service status -json")).json()).toMatchObject({ installed: false });
    }));

  test("explains an absent systemd", () =>
    withRecorder(
      "other",
      async (cli) => {
        await expect(cli.run("service install")).rejects.toThrow(/This machine has no systemd/);
      },
      { PATH: "/nonexistent" },
    ));

  test("repeats the reason of a failed command", () =>
    withRecorder("systemctl", async (cli, { behave }) => {
      await behave('case "$2" in enable) echo "Access denied" >&2; exit 1 ;; esac');
      await expect(cli.run("service install")).rejects.toThrow(
        /"systemctl --user enable \S+" failed: Access denied/,
      );
    }));

  test("asks to stop a launcher that runs without the service", () =>
    withRecorder("systemctl", async (cli, { behave }) => {
      await cli.start();
      await expect(cli.run("service install")).rejects.toThrow(/is already running without the/);
      await behave('echo "ActiveState=active"; echo "SubState=running"');
      expect(await cli.run("service install")).toMatchObject({ code: 0 });
    }));
});

describe("doorward service uninstall", () => {
  test("stops and removes the service, and accepts that there is none", () =>
    withRecorder("systemctl", async (cli, { calls }) => {
      await cli.run("service install");
      const file = await unitOf(cli);
      const name = file.split("/").at(-1)!;
      await calls();
      const { out, said } = await cli.run("service uninstall");
      expect(out).toContain("The service is removed");
      expect(said).toContain(`The files in ${cli.home} are unchanged.`);
      expect(await calls()).toEqual([
        "--user show --property=Version",
        `--user disable --now ${name}`,
        "--user daemon-reload",
        `--user reset-failed ${name}`,
      ]);
      await expect(stat(file)).rejects.toThrow("ENOENT");
      const again = await cli.run("service uninstall");
      expect(again).toMatchObject({ code: 0, out: expect.stringContaining("not installed") });
      expect(await calls()).toEqual([]);
    }));

  test("keeps the unit if the service does not stop", () =>
    withRecorder("systemctl", async (cli, { behave }) => {
      await cli.run("service install");
      const file = await unitOf(cli);
      await behave('case "$2" in disable) exit 1 ;; esac');
      await expect(cli.run("service uninstall")).rejects.toThrow(/"systemctl.*failed: exit code 1/);
      await stat(file);
    }));
});

describe("doorward service status", () => {
  test("names a pipe in place of the unit without waiting", () =>
    withRecorder("systemctl", async (cli) => {
      const file = await unitOf(cli);
      await mkdir(dirname(file), { recursive: true });
      execFileSync("mkfifo", [file]);
      await expect(cli.run("service status")).rejects.toThrow(
        `Cannot read ${file}: it is not a regular file.`,
      );
    }));

  test("shows the unit, its state and the launcher", () =>
    withRecorder("systemctl", async (cli, { behave }) => {
      expect(await cli.run("service status")).toMatchObject({
        code: 4,
        out: "Service    not installed\nLauncher   not running\n",
      });
      await cli.run("service install");
      await behave('echo "ActiveState=active"; echo "SubState=running"');
      await cli.start();
      const { code, out } = await cli.run("service status");
      expect(code).toBe(0);
      expect(out).toMatch(/^State +active \(running\)\nLauncher +running$/m);
    }));

  test.each(["service", "service start", "service status now", "service status -print"])(
    "rejects %j",
    (line) => withCommandLine(({ run }) => expect(run(line)).rejects.toThrow(/^Name one|-print/)),
  );
});

describe("service", () => {
  test("runs the launch agent steps of macOS and marks them as experimental", () =>
    withRecorder("launchctl", async ({ home, env }, { calls, bin }) => {
      let said = "";
      const context = {
        values: {},
        json: false,
        env,
        home,
        version: "0.0.0",
        stdin: process.stdin,
        out: () => undefined,
        say: (text: string) => void (said += text),
        hinted: (text: string) => text,
      };
      expect(await service({ ...context, words: ["install"] }, "darwin")).toBe(0);
      expect(said).toContain("the launch agent is experimental");
      const words = (await calls()).map((call) => call.split(" ")[0]);
      expect(words).toEqual(["print", "print", "enable", "bootout", "bootstrap"]);
      const [file] = await readAgents(bin);
      expect(file).toContain("<string>-no-browser</string>");
      expect(await service({ ...context, words: ["uninstall"] }, "darwin")).toBe(0);
      expect(await readAgents(bin)).toEqual([]);
      await expect(service({ ...context, words: ["status"] }, "aix")).rejects.toThrow(
        /knows no service manager of aix/,
      );
    }));
});

async function readAgents(userHome: string): Promise<string[]> {
  const folder = join(userHome, "Library", "LaunchAgents");
  return Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")));
}
