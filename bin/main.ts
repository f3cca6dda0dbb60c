// Runs the launcher or a command, and keeps tokens out of the environment of child processes.
import { closeSync } from "node:fs";
import { isatty } from "node:tty";
import {
  parseArguments,
  UsageError,
  usage,
  type CommandArguments,
  type LauncherArguments,
} from "./arguments.ts";
import { sanitize } from "./client/text.ts";
import { commandName, withCommand } from "./command-name.ts";
import { commands } from "./commands/index.ts";

// Everything here uses this copy; child processes start without the tokens.
const env: Readonly<Record<string, string | undefined>> = Object.freeze({ ...process.env });
for (const name of Object.keys(process.env))
  if (/^SERVICE_.*TOKEN$/.test(name)) delete process.env[name];

// The reader of the output may exit (`doorward | head`); the launcher continues.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);

// Node up to 22 aborts at exit if the terminal is gone (nodejs/node#51519), unless it is closed.
const terminals = [0, 1, 2].filter((fd) => isatty(fd));
process.on("exit", () => {
  for (const fd of terminals) if (!isatty(fd)) closeSync(fd);
});

const invocation = { script: process.argv[1] ?? "", env };
const name = commandName({ ...invocation, cwd: process.cwd() });
const hinted = (text: string): string => withCommand(text, name);

/** Runs the command line and resolves with the exit code. */
export async function main(): Promise<number> {
  try {
    return await run(parseArguments(process.argv.slice(2), commands));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const more = 'Run "doorward help" for all commands and options.';
    process.stderr.write(`doorward: ${hinted(`${sanitize(error.message)}\n${more}`)}\n`);
    return 2;
  }
}

async function run(given: LauncherArguments | CommandArguments): Promise<number> {
  if (given.command === "help") {
    process.stdout.write(usage(commands, given.about));
    return 0;
  }
  const { homeOf, version } = await import("./environment.ts");
  if (given.command === "version") {
    process.stdout.write(`${version}\n`);
    return 0;
  }
  if (given.command === "run") return runCommand(given, version, homeOf(env));
  const { launch } = await import("./launch.ts");
  return launch({ ...given, env, version, hinted, commandName: commandName(invocation) });
}

async function runCommand(given: CommandArguments, version: string, home: string): Promise<number> {
  const { name, values, json } = given;
  const command = await commands[name]!.load();
  let isLost = false;
  // With a full disk the result is lost, which the exit code must show.
  process.stdout.on("error", ({ code = "" }: NodeJS.ErrnoException) => {
    if (code === "EPIPE" || isLost) return;
    isLost = true;
    process.exitCode ||= 1;
    process.stderr.write(`doorward: cannot write to standard output (${code})\n`);
  });
  try {
    const ended = await command({
      ...given,
      env,
      version,
      home,
      stdin: process.stdin,
      out: (text) => void process.stdout.write(text),
      say: (text) => void process.stderr.write(hinted(text)),
      hinted,
    });
    return isLost ? ended || 1 : ended;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { stack } = error as Error;
    const message = await sentenceOf(error as NodeJS.ErrnoException);
    if (json) {
      const [{ codeOf }, { sanitizedJson }] = await Promise.all([
        import("../kernel/index.ts"),
        import("./client/text.ts"),
      ]);
      process.stdout.write(`${sanitizedJson({ error: codeOf(error), message })}\n`);
      return 1;
    }
    const details = values["debug"] === true ? `${stack}\n` : "";
    process.stderr.write(hinted(sanitize(`doorward: ${message}\n${details}`)));
    return 1;
  }
}

/** Texts of system errors are for developers: they contain codes and names of functions. */
async function sentenceOf(error: NodeJS.ErrnoException): Promise<string> {
  if (error.syscall === undefined) return error.message;
  const { describeErrno } = await import("../lib/files/index.ts");
  const { path, address } = error as NodeJS.ErrnoException & { address?: string };
  return `${path ?? address ?? "A system call failed"}: ${describeErrno(error)}.`;
}
