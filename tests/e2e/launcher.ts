import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const builtProgram = fileURLToPath(new URL("../../dist/bin/doorward.js", import.meta.url));

export interface LaunchOptions {
  readonly home?: string;
  /** Path of `doorward.js`. @defaultValue that of the build */
  readonly program?: string;
  readonly args?: readonly string[];
  /** Arguments of Node. */
  readonly nodeArgs?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface LauncherProcess {
  readonly home: string;
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  stdout(): string;
  stderr(): string;
  /** Stops the process if it runs, and removes its home if this helper created it. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts the built program with its own environment and a home in a temporary directory. */
export async function spawnLauncher(options: LaunchOptions = {}): Promise<LauncherProcess> {
  const home = options.home ?? (await mkdtemp(join(tmpdir(), "doorward-home-")));
  const { args = ["-console", "-port", "0"], nodeArgs = [], program = builtProgram } = options;
  const child = spawn(process.execPath, [...nodeArgs, program, ...args], {
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: home,
      SERVICE_HOME: join(home, ".service"),
      ...options.env,
    },
    stdio: ["ignore", "pipe", "pipe"],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  const ended = new Promise<Ended>((done) =>
    child.once("close", (code, signal) => done({ code, signal })),
  );
  return {
    home: options.env?.["SERVICE_HOME"] ?? join(home, ".service"),
    child,
    ended,
    stdout: () => out,
    stderr: () => err,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await ended;
      if (!options.home) await rm(home, { recursive: true, force: true });
    },
  };
}

export interface RunningLauncher extends LauncherProcess {
  readonly base: URL;
  /** One-time link printed at the terminal. */
  readonly link: URL;
  /** Token, if the terminal shows it. */
  readonly token: string | undefined;
}

/** Resolves when the banner is complete. Rejects with the output if the process exits first. */
export async function startLauncher(options: LaunchOptions = {}): Promise<RunningLauncher> {
  const running = await spawnLauncher(options);
  await new Promise<void>((resolve, reject) => {
    const look = (): void => {
      if (/^ {2}Files .*\n\n/m.test(running.stdout())) resolve();
    };
    running.child.stdout?.on("data", look);
    void running.ended.then(({ code }) => {
      reject(
        new Error(`the launcher ended with ${code}:\n${running.stdout()}\n${running.stderr()}`),
      );
    });
  });
  const text = running.stdout();
  const base = new URL(/Dashboard +(\S+)/.exec(text)![1]!);
  const link = new URL(/(http\S+token=ott_\S+)/.exec(text)![1]!);
  return {
    ...running,
    base,
    link,
    token: /^ +([\w-]{43})$/m.exec(text)?.[1],
    [Symbol.asyncDispose]: running[Symbol.asyncDispose],
  };
}

/** Returns `name=value` of the session cookie of a response. */
export function sessionCookie(response: Response): string {
  const line = response.headers.getSetCookie().find((cookie) => cookie.includes("_session_"));
  if (!line) throw new Error("no session cookie was set");
  return line.split(";", 1)[0]!;
}

/** Completes setup with the generated token and returns the session cookie. */
export async function finishSetup({ base, token }: RunningLauncher): Promise<string> {
  const answer = await fetch(new URL("/setup", base), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code: token, keep: true }),
  });
  if (answer.status !== 200)
    throw new Error(`setup answered ${answer.status}: ${await answer.text()}`);
  return sessionCookie(answer);
}

/** Turns the channel on as the overview does, and returns its token. */
export async function enablePico({ base, home }: RunningLauncher, cookie: string): Promise<string> {
  const { readFile } = await import("node:fs/promises");
  const status = (await (
    await fetch(new URL("/api/status", base), { headers: { cookie } })
  ).json()) as {
    channel: { etag: string };
  };
  const answer = await fetch(new URL("/api/channels/pico", base), {
    method: "PUT",
    headers: { "content-type": "application/json", cookie, "if-match": status.channel.etag },
    body: JSON.stringify({ enabled: true }),
  });
  if (answer.status !== 200)
    throw new Error(`enabling answered ${answer.status}: ${await answer.text()}`);
  return /token: ["']?([0-9a-f]{64})/.exec(
    await readFile(join(home, ".security.yml"), "utf8"),
  )![1]!;
}
