import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll } from "vitest";
import { startRemote, token, type Remote } from "../support/pico-client-harness.ts";
import { python } from "./terminal.ts";

const program = fileURLToPath(new URL("../../dist/bin/doorward.js", import.meta.url));

export interface Running extends AsyncDisposable {
  readonly child: ChildProcessWithoutNullStreams;
  readonly home: string;
  readonly ended: Promise<{ code: number | null; out: string; err: string }>;
  /** Resolves when the output of stdout or stderr matches. */
  said(pattern: RegExp, where?: "out" | "err"): Promise<void>;
}

export type Variables = Readonly<Record<string, string>>;

export interface Place {
  /** Parent directory of homes. */
  readonly folder: string;
  readonly url: string;
}

/** Starts a service and creates a directory for homes, for the tests of a file. */
export function awayFrom(): Place & { readonly there: Remote } {
  const place = {} as { folder: string; url: string; there: Remote };
  beforeAll(async () => {
    place.folder = await mkdtemp(join(tmpdir(), "doorward-client-"));
    place.there = await startRemote();
    place.url = place.there.url;
  });
  afterAll(async () => {
    await place.there[Symbol.asyncDispose]();
    await rm(place.folder, { recursive: true, force: true });
  });
  return place;
}

/** Starts the built client in its own process and home. */
export async function startClient(
  { folder, url }: Place,
  args: readonly string[],
  env: Variables = {},
  command = [process.execPath],
): Promise<Running> {
  const home = env["SERVICE_HOME"] ?? (await mkdtemp(join(folder, "home-")));
  const own = {
    SERVICE_CHANNELS_PICO_CLIENT_ENABLED: "true",
    SERVICE_CHANNELS_PICO_CLIENT_URL: url,
    SERVICE_CHANNELS_PICO_CLIENT_TOKEN: token,
  };
  const [file = "", ...before] = command;
  const child = spawn(file, [...before, program, ...args], {
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: home,
      SERVICE_HOME: home,
      TERM: "xterm",
      ...own,
      ...env,
    },
  });
  let out = "";
  let err = "";
  const looks = new Set<() => void>();
  const hear = (): void => looks.forEach((look) => look());
  child.stdin.on("error", () => {});
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
    hear();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
    hear();
  });
  const ended = new Promise<{ code: number | null; out: string; err: string }>((done) => {
    child.once("close", (code) => done({ code, out, err }));
  });
  return {
    child,
    home,
    ended,
    said: (pattern, where = "out") =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (pattern.test(where === "out" ? out : err)) resolve();
        };
        looks.add(look);
        look();
        void ended.then(({ code }) =>
          reject(new Error(`ended with ${code} without ${pattern}:\n${out}\n${err}`)),
        );
      }),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/* Runs the client at a terminal of 100 columns, with its input and output as streams. */
const terminal = `
import fcntl, os, pty, select, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    os.execv(sys.argv[1], sys.argv[1:])
sources = [fd, 0]
while True:
    ready = select.select(sources, [], [])[0]
    if fd in ready:
        try: data = os.read(fd, 65536)
        except OSError: break
        if not data: break
        os.write(1, data)
    if 0 in ready:
        data = os.read(0, 65536)
        if data: os.write(fd, data)
        else: sources.remove(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

/** Starts the built client at a terminal. Needs `python`. */
export const startAtTerminal = (
  place: Place,
  args: readonly string[],
  env: Variables = {},
): Promise<Running> => startClient(place, args, env, [python!, "-c", terminal, process.execPath]);
