import { parseArgs } from "node:util";
import { didYouMean } from "../kernel/index.ts";
import type { Command } from "./commands/index.ts";
import type { Options } from "./commands/command.ts";
import { UsageError } from "./commands/command.ts";

export { UsageError } from "./commands/command.ts";

export interface LauncherArguments {
  readonly command: "launch" | "help" | "version";
  /** The command that help is asked for. */
  readonly about?: string;
  readonly config?: string;
  readonly console: boolean;
  /** `true`: there must be one; `false`: there must be none. */
  readonly tray?: boolean;
  readonly browser: boolean;
  readonly debug: boolean;
  readonly port?: number;
  readonly host?: string;
  readonly public?: boolean;
  /** Words of the program that answers. */
  readonly program?: readonly [string, ...string[]];
}

/** A command of the table, its words and options. */
export interface CommandArguments {
  readonly command: "run";
  readonly name: string;
  readonly words: readonly string[];
  readonly values: Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;
  readonly json: boolean;
}

const launcherOptions = {
  console: { type: "boolean" },
  tray: { type: "boolean" },
  port: { type: "string" },
  host: { type: "string" },
  public: { type: "boolean" },
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

const formatRows = (rows: Command["usage"]): string => {
  const wide = Math.max(...rows.map(([words]) => words.length));
  return rows.map(([words, does]) => `  ${words.padEnd(wide)}  ${does}`).join("\n");
};

/** The help for one command, or for everything. */
export function usage(commands: Readonly<Record<string, Command>>, about?: string): string {
  const one = about === undefined ? undefined : commands[about];
  if (one) {
    return `Usage: doorward ${about} [options]

${formatRows(one.usage)}

Options: ${Object.keys({ ...one.options, ...commandOptions })
      .map((name) => `-${name}`)
      .join(" ")}.
"doorward -help" tells of all commands and of the exit codes.
`;
  }
  const rows = Object.values(commands).flatMap((command) => command.usage);
  return `Usage: doorward [path/to/config.json] [options]
       doorward run [options] -- PROGRAM [WORD]...
       doorward <command> [options]

Starts the launcher: the dashboard and, when it is enabled, the pico channel. With "run" the program answers the
messages; it is started in this folder, without a shell.

  -console       terminal mode: the log is shown here too, and a new token; no icon
  -tray          an icon in the desktop's panel, or no start; -no-tray: none, as with -console
  -port N        port of the dashboard (default 18800, or "port" in launcher-config.json)
  -host H        listen on one interface (default 127.0.0.1)
  -public        listen on all interfaces
  -no-browser    do not open the browser
  -debug         detailed log, and stacks of errors
  -version       print the version
  -help          print this text

Commands (each takes -json):

${formatRows(rows)}

One or two dashes are the same. Files live in $SERVICE_HOME (default ~/.service). The dashboard has the documentation.
Exit codes: 0 done, 1 cannot start or failed, 2 wrong usage, 3 rejected by the server, 4 server not reachable,
5 a reply may be incomplete.
`;
}

/** Flags as Go's flag package takes them (`-name`, `-name=value`, `-bool=false`), rewritten for `parseArgs`. */
function toDoubleDashes(argv: readonly string[], options: Options): string[] {
  const end = argv.indexOf("--");
  return argv.map((argument, at) => {
    if (end >= 0 && at >= end) return argument;
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
  if (name === "help") return helpArguments(rest.find((word) => Object.hasOwn(commands, word)));
  return parseLauncher(argv, Object.keys(commands));
}

const helpArguments = (about: string | undefined): LauncherArguments => ({
  command: "help",
  console: false,
  browser: false,
  debug: false,
  ...(about !== undefined && { about }),
});

function parseCommand(
  name: string,
  argv: readonly string[],
  { options = {} }: Command,
): LauncherArguments | CommandArguments {
  const all: Options = { ...options, ...commandOptions };
  const { values, positionals } = parseOptions(toDoubleDashes(argv, all), all);
  if (values["help"]) return helpArguments(name);
  return { command: "run", name, words: positionals, values, json: values["json"] === true };
}

function parseRun(argv: readonly string[]): LauncherArguments {
  const end = argv.indexOf("--");
  const isAsking = end === -1 && argv.length > 0 && argv.every((word) => word.startsWith("-"));
  const given = parseLauncher(isAsking ? argv : argv.slice(0, Math.max(0, end)));
  const [program, ...words] = end === -1 ? [] : argv.slice(end + 1);
  if (given.command !== "launch") return given;
  if (program && given.config === undefined) return { ...given, program: [program, ...words] };
  const form = end === -1 && !isAsking && argv.length > 0 ? argv.join(" ") : "python3 agent.py";
  throw new UsageError(
    `"run" takes the program behind two dashes, and no other file: doorward run -- ${form}`,
  );
}

/** What other programs call what has no command here. */
const knownAliases: ReadonlyMap<string, string> = new Map([
  ["start", ' "doorward" alone starts the launcher.'],
  ["stop", " Ctrl+C, SIGTERM or the icon's menu ends a launcher."],
]);

/** `names`: words that would have been a command. */
function parseLauncher(argv: readonly string[], names: readonly string[] = []): LauncherArguments {
  const { values, positionals } = parseOptions(
    toDoubleDashes(argv, launcherOptions),
    launcherOptions,
  );
  const [file = "."] = positionals;
  if (names.length > 0 && /^[\w-]+$/.test(file)) {
    const meant = knownAliases.get(file) ?? didYouMean(file, ["run", ...names]);
    throw new UsageError(
      `"${file}" is no command.${meant} A file of that name is written ./${file}`,
    );
  }
  if (file === "") throw new UsageError("the name of the configuration file is empty");
  const files = positionals.length;
  if (files > 1) throw new UsageError(`only one configuration file can be named, not ${files}`);
  const command = values.help ? "help" : values.version ? "version" : "launch";
  return {
    command,
    console: values.console ?? false,
    ...(values.tray === undefined ? {} : { tray: values.tray }),
    browser: values.browser ?? true,
    debug: values.debug ?? false,
    ...(positionals[0] === undefined ? {} : { config: positionals[0] }),
    ...(values.port === undefined ? {} : { port: parsePort(values.port) }),
    ...(values.host === undefined ? {} : { host: values.host }),
    ...(values.public === undefined ? {} : { public: values.public }),
  };
}

function parseOptions<const T extends Options>(args: string[], options: T) {
  try {
    return parseArgs({ args, options, allowPositionals: true, allowNegative: true });
  } catch (error) {
    const [sentence = "wrong usage"] = (error as Error).message.split(". ");
    throw new UsageError(sentence.charAt(0).toLowerCase() + sentence.slice(1), { cause: error });
  }
}

function parsePort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) {
    throw new UsageError(`"-port" takes a number from 0 to 65535, not "${text}"`);
  }
  return Number(text);
}
