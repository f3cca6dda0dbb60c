// Parses the command line and prints the help.
import { parseArgs } from "node:util";
import { didYouMean } from "../kernel/index.ts";
import { defined } from "../lib/util.ts";
import type { Command } from "./commands/index.ts";
import { UsageError, type CommandContext, type Options } from "./commands/command.ts";

export { UsageError } from "./commands/command.ts";

export interface LauncherArguments {
  readonly command: "launch" | "help" | "version";
  /** The command to explain, with `help`. */
  readonly about?: string;
  readonly config?: string;
  readonly console: boolean;
  /** `true`: startup fails without a tray icon; `false`: no icon. */
  readonly tray?: boolean;
  readonly browser: boolean;
  readonly debug: boolean;
  readonly port?: number;
  readonly host?: string;
  readonly public?: boolean;
  /** The launcher rejects it. */
  readonly workers?: string;
  /** The program that answers messages, and its arguments. */
  readonly program?: readonly [string, ...string[]];
  /** True if that program is an agent of the Agent Client Protocol. */
  readonly isAcp?: boolean;
}

/** A command of the table, with its arguments and options. */
export interface CommandArguments extends Pick<CommandContext, "words" | "values" | "json"> {
  readonly command: "run";
  readonly name: string;
}

const launcherOptions = {
  console: { type: "boolean" },
  tray: { type: "boolean" },
  port: { type: "string" },
  host: { type: "string" },
  public: { type: "boolean" },
  workers: { type: "string" },
  browser: { type: "boolean" },
  debug: { type: "boolean" },
  version: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const satisfies Options;

const commandOptions = {
  json: { type: "boolean" },
  debug: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const satisfies Options;

/** Help rows of the launcher options. */
export const launcherRows: Command["usage"] = [
  ["-console", "Terminal mode: show the log and a new token here, and no tray icon"],
  ["-tray", "Require the tray icon; -no-tray: show none (default: show one if possible)"],
  ["-port PORT", 'Port of the dashboard (default 18800, or "port" in launcher-config.json)'],
  ["-host ADDRESS", "Listen on one interface (default 127.0.0.1)"],
  ["-public", "Listen on all interfaces"],
  ["-no-browser", "Do not open the browser"],
  ["-debug", "Log details, and stacks of errors"],
  ["-version", "Print the version"],
  ["-help", "Print this text"],
];
/** Help rows of the options that every command accepts. */
export const commonRows: Command["usage"] = [
  ["  -json", "Print JSON"],
  ["  -debug", "Show the stack of an error"],
  ["  -help", "Print this text"],
];

export const exitCodeRows: readonly (readonly [code: number, meaning: string])[] = [
  [0, "done"],
  [1, "startup or command failed"],
  [2, "invalid command line"],
  [3, "rejected by the server"],
  [4, "server not reachable"],
  [5, "reply may be incomplete"],
  [6, "a question waits for an answer"],
  [130, "a second Ctrl+C ended the client"],
];

/** Help row of the option that only `run` has. */
export const runRow = ["-acp", "The program speaks the Agent Client Protocol"] as const;

const formatRows = (rows: Command["usage"]): string => {
  const columns = Math.max(...rows.map(([words]) => words.length));
  return rows.map(([words, purpose]) => `  ${words.padEnd(columns)}  ${purpose}`).join("\n");
};

const runUsage = `Usage: doorward run [options] -- PROGRAM [ARGUMENT]...

Start the launcher with a program that answers messages. It runs in this folder, without a shell,
instead of "handler" in config.json. For example: doorward run -port 8080 -- python3 agent.py

With -acp, the program is a coding agent that speaks the Agent Client Protocol, and people answer
its permission requests in the chat. For example: doorward run -acp -- opencode acp

${formatRows([runRow, ...launcherRows])}

Run "doorward help" for all commands and exit codes.
`;

/** @returns The help for the command `about`, or for everything. */
export function usage(commands: Readonly<Record<string, Command>>, about?: string): string {
  if (about === "run") return runUsage;
  const command = about === undefined ? undefined : commands[about];
  if (command) {
    const own = new Set(command.usage.map(([words]) => words));
    return `Usage: doorward ${about} [options]

${formatRows([...command.usage, ...commonRows.filter(([words]) => !own.has(words))])}

Run "doorward help" for all commands and exit codes.
`;
  }
  const rows = Object.values(commands).flatMap(({ usage }) => usage);
  return `Usage: doorward [path/to/config.json] [options]
       doorward run [options] -- PROGRAM [ARGUMENT]...
       doorward COMMAND [options]
       doorward help COMMAND

Without a command, doorward starts the launcher: the dashboard and, if enabled, the pico channel.
"run" also starts a program that answers messages. It runs in this folder, without a shell.
"run -acp" starts a coding agent that speaks the Agent Client Protocol.

${formatRows(launcherRows)}

Commands (each accepts -json):

${formatRows(rows)}

Options start with one or two dashes. Files are in $SERVICE_HOME (default ~/.service).
The dashboard contains the documentation.

Exit codes:
${exitCodeRows.map(([code, meaning]) => `  ${`${code}`.padEnd(3)}  ${meaning}`).join("\n")}
`;
}

/** Rewrites options in the style of Go's flag package (`-name`, `-name=value`, `-bool=false`) for
 *  `parseArgs`. */
function toDoubleDashes(argv: readonly string[], options: Options): string[] {
  const end = argv.indexOf("--");
  return argv.map((argument, index) => {
    if (end >= 0 && index >= end) return argument;
    const [, name, value] = /^--?([a-z][\w-]+)(?:=(.*))?$/s.exec(argument) ?? [];
    if (name === undefined) return argument;
    const plain = name.replace(/^no-/, "");
    const option = Object.hasOwn(options, plain) ? options[plain] : undefined;
    if (!option) {
      const dashed = Object.keys(options).map((known) => `-${known}`);
      throw new UsageError(
        `unknown option "${argument.split("=")[0]}".${didYouMean(`-${name}`, dashed)}`,
      );
    }
    if (option.type !== "boolean") return `--${name}${value === undefined ? "" : `=${value}`}`;
    if (value === undefined) return `--${name}`;
    if (/^(1|t|true)$/i.test(value)) return `--${name}`;
    if (/^(0|f|false)$/i.test(value)) return name === plain ? `--no-${name}` : `--${plain}`;
    throw new UsageError(`"-${name}" takes true or false, not "${value}"`);
  });
}

export function parseArguments(
  argv: readonly string[],
  commands: Readonly<Record<string, Command>>,
): LauncherArguments | CommandArguments {
  const [name = "", ...rest] = argv;
  if (name === "run") return parseRun(rest);
  if (Object.hasOwn(commands, name)) return parseCommand(name, rest, commands[name]!);
  const names = Object.keys(commands);
  if (name === "help")
    return helpArguments(
      rest.find((word) => !word.startsWith("-")),
      names,
    );
  if (name === "version" && rest.length === 0) return parseLauncher(["-version"]);
  const place = argv.findIndex((word) => names.includes(word));
  // An option of a command, such as -json, must not hide a mistake in its name or position.
  if (place > 0 && argv.slice(0, place).every((word) => /^--?(?:json|debug)$/.test(word)))
    throw commandNotFirst(argv, place);
  if (/^[\w-]+$/.test(name) && !name.startsWith("-")) throw notACommand(name, names);
  return parseLauncher(argv, names);
}

function helpArguments(about: string | undefined, names: readonly string[]): LauncherArguments {
  if (about !== undefined && ![...names, "run", "help"].includes(about))
    throw new UsageError(`"${about}" is not a command.${didYouMean(about, ["run", ...names])}`);
  const isCommand = about !== undefined && about !== "help";
  const plain = { command: "help", console: false, browser: false, debug: false } as const;
  return { ...plain, ...(isCommand && { about }) };
}

function commandNotFirst(argv: readonly string[], place: number): UsageError {
  const others = argv.filter((_, index) => index !== place);
  return new UsageError(
    `The command must come first: ${["doorward", argv[place], ...others].join(" ")}`,
  );
}

function notACommand(word: string, names: readonly string[]): UsageError {
  const meant = knownAliases.get(word) ?? didYouMean(word, ["run", ...names]);
  return new UsageError(
    `"${word}" is not a command.${meant} To name a configuration file, write ./${word}`,
  );
}

function parseCommand(
  name: string,
  argv: readonly string[],
  { options = {} }: Command,
): LauncherArguments | CommandArguments {
  const all: Options = { ...options, ...commandOptions };
  const { values, positionals } = parseOptions(toDoubleDashes(argv, all), all);
  if (values["help"]) return helpArguments(name, [name]);
  return { command: "run", name, words: positionals, values, json: values["json"] === true };
}

/** Only `run` has it. */
const acpOption = /^--?acp$/;

function parseRun(argv: readonly string[]): LauncherArguments {
  const end = argv.indexOf("--");
  const hasOnlyOptions =
    end === -1 && argv.length > 0 && argv.every((word) => word.startsWith("-"));
  const given = hasOnlyOptions ? argv : argv.slice(0, Math.max(0, end));
  const isAcp = given.some((word) => acpOption.test(word));
  const launcher = parseLauncher(given.filter((word) => !acpOption.test(word)));
  const [program, ...words] = end === -1 ? [] : argv.slice(end + 1);
  if (launcher.command === "help") return helpArguments("run", []);
  if (launcher.command !== "launch") return launcher;
  if (program && launcher.config === undefined)
    return { ...launcher, program: [program, ...words], ...(isAcp && { isAcp }) };
  const form = end === -1 && !hasOnlyOptions && argv.length > 0 ? argv : ["python3", "agent.py"];
  const start = programStart(form);
  const command = [...form.slice(0, start), "--", ...form.slice(start)].join(" ");
  throw new UsageError(
    `Put the program after two dashes, and name no configuration file: doorward run ${command}`,
  );
}

/** @returns The place of the first word that is neither an option of the launcher nor its value. */
function programStart(argv: readonly string[]): number {
  const known: Options = launcherOptions;
  for (let at = 0; at < argv.length; at += 1) {
    const [, name, value] = /^--?([a-z][\w-]*)(=.*)?$/s.exec(argv[at]!) ?? [];
    if (name === undefined) return at;
    if (known[name]?.type === "string" && value === undefined) at += 1;
  }
  return argv.length;
}

/** Commands that users expect from other programs. */
const knownAliases: ReadonlyMap<string, string> = new Map([
  ["start", " To start the launcher, run: doorward"],
  ["stop", " To stop a launcher, use Ctrl+C, SIGTERM or the menu of the tray icon."],
]);

/** @param names - Commands, for a hint if the first word is misspelt. */
function parseLauncher(argv: readonly string[], names: readonly string[] = []): LauncherArguments {
  const { values, positionals } = parseOptions(
    toDoubleDashes(argv, launcherOptions),
    launcherOptions,
  );
  const [file = "."] = positionals;
  if (names.length > 0 && /^[\w-]+$/.test(file)) {
    if ([...names, "run"].includes(file)) throw commandNotFirst(argv, argv.indexOf(file));
    throw notACommand(file, names);
  }
  if (file === "") throw new UsageError("The name of the configuration file is empty.");
  const files = positionals.length;
  if (files > 1) throw new UsageError(`Name one configuration file, not ${files}.`);
  const command = values.help ? "help" : values.version ? "version" : "launch";
  return {
    command,
    console: values.console ?? false,
    browser: values.browser ?? true,
    debug: values.debug ?? false,
    ...defined({
      config: positionals[0],
      port: values.port === undefined ? undefined : parsePort(values.port),
      tray: values.tray,
      host: values.host,
      public: values.public,
      workers: values.workers,
    }),
  };
}

function parseOptions<const T extends Options>(args: string[], options: T) {
  try {
    return parseArgs({ args, options, allowPositionals: true, allowNegative: true });
  } catch (error) {
    const { message } = error as Error;
    const [, unvalued] = /^Option '(?:-\w, )?--([\w-]+) <value>' argument/.exec(message) ?? [];
    if (unvalued !== undefined)
      throw new UsageError(`"-${unvalued}" needs a value`, { cause: error });
    const [sentence = "wrong usage"] = message.split(". ");
    throw new UsageError(sentence.charAt(0).toLowerCase() + sentence.slice(1), { cause: error });
  }
}

function parsePort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) {
    throw new UsageError(`"-port" takes a number from 0 to 65535, not "${text}"`);
  }
  return Number(text);
}
