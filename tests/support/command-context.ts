import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { parseArguments } from "../../bin/arguments.ts";
import { commands } from "../../bin/commands/index.ts";
import { createLauncher, type Launcher } from "../../config/presets/launcher.ts";
import { createCapturedLog, type LogEntry } from "../../kernel/testing.ts";

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly said: string;
  /** `out` as JSON. */
  json(): any;
}

/** A home and the command line of its owner. */
export interface CommandLine {
  readonly home: string;
  readonly env: Record<string, string>;
  write(name: string, content: string | object): Promise<void>;
  read(name: string): Promise<string>;
  /** Runs a command line without the leading `doorward`. */
  run(line: string, stdin?: string): Promise<CommandResult>;
  /** Starts the launcher of this home in this process. */
  start(): Promise<{ kernel: Launcher; lines: readonly LogEntry[]; base: URL }>;
}

export async function withCommandLine(
  visit: (cli: CommandLine) => Promise<void>,
  env: Record<string, string> = {},
  name = "doorward-home-",
): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), name));
  const running: Launcher[] = [];
  try {
    await visit({
      home,
      env,
      write: (name, content) =>
        writeFile(
          join(home, name),
          typeof content === "string" ? content : JSON.stringify(content),
          { mode: 0o600 },
        ),
      read: (name) => readFile(join(home, name), "utf8"),
      run: (line, stdin = "") => run(home, env, line.split(" "), stdin),
      async start() {
        const { log, lines } = createCapturedLog();
        const kernel = await createLauncher({
          home,
          env,
          version: "0.0.0",
          log,
          flags: { port: 0 },
          pid: process.pid,
        });
        await kernel.start();
        running.push(kernel);
        return { kernel, lines, base: kernel.services.http.addresses()[0]! };
      },
    });
  } finally {
    for (const kernel of running) await kernel.stop();
    await rm(home, { recursive: true, force: true });
  }
}

async function run(
  home: string,
  env: Record<string, string>,
  argv: readonly string[],
  stdin: string,
): Promise<CommandResult> {
  const given = parseArguments(argv, commands);
  if (given.command !== "run") throw new Error(`"${argv.join(" ")}" is not a command`);
  let out = "";
  let said = "";
  const command = await commands[given.name]!.load();
  const code = await command({
    words: given.words,
    values: given.values,
    json: given.json,
    env,
    home,
    version: "0.0.0",
    stdin: Readable.from([stdin]) as unknown as NodeJS.ReadStream,
    out: (text) => void (out += text),
    say: (text) => void (said += text),
    hinted: (text) => text,
  });
  return { code, out, said, json: () => JSON.parse(out) };
}
