// Shared by all commands: usage, options, context and exit codes.
import type { ParseArgsConfig } from "node:util";
import type { Environment } from "../../config/load/index.ts";
import { sanitizedJson } from "../client/text.ts";

export type Options = NonNullable<ParseArgsConfig["options"]>;

/** A command of `doorward`, loaded when it runs. */
export interface Command {
  /** Rows of the help text: the words after `doorward`, and what they do. */
  readonly usage: readonly (readonly [words: string, does: string])[];
  /** In addition to `-json`, `-debug` and `-help`, which every command accepts. */
  readonly options?: Options;
  /** Imports the code of the command. */
  load(): Promise<(context: CommandContext) => Promise<number>>;
}

/** One invocation of a command. */
export interface CommandContext {
  /** The arguments after the name of the command, without options. */
  readonly words: readonly string[];
  readonly values: Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;
  readonly json: boolean;
  readonly env: Environment;
  readonly home: string;
  readonly version: string;
  readonly stdin: NodeJS.ReadStream;
  /** Writes results to standard output, where programs read them. */
  out(text: string): void;
  /** Writes prompts, notices and errors to standard error. */
  say(text: string): void;
  /** Writes the name of this command into the hints of a text. */
  hinted(text: string): string;
}

/**
 * `incomplete`: the client ended before the reply, or assumed its end after a silence.
 * `waiting`: a question of the application waits for an answer.
 * `interrupted`: a second Ctrl+C ended the client while it stopped an answer.
 */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  unreachable: 4,
  incomplete: 5,
  waiting: 6,
  interrupted: 130,
} as const;

export const printJson = ({ out }: CommandContext, value: unknown): void =>
  out(`${sanitizedJson(value, 2)}\n`);

/** An invalid command line; its message is shown, and the exit code is 2. */
export class UsageError extends Error {}
