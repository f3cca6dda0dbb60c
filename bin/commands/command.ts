import type { ParseArgsConfig } from "node:util";
import type { Environment } from "../../config/load/index.ts";
import { sanitizedJson } from "../client/text.ts";

export type Options = NonNullable<ParseArgsConfig["options"]>;

/** A word after `doorward`, and what it takes. */
export interface Command {
  /** After `doorward`, one line each, with what it does. */
  readonly usage: readonly (readonly [words: string, does: string])[];
  /** Beside `-json` and `-help`, which every command takes. */
  readonly options?: Options;
  /** Loads its code only when it is asked for. */
  load(): Promise<(context: CommandContext) => Promise<number>>;
}

/** One call of a command; resolves to the exit code. */
export interface CommandContext {
  /** What follows the command's name. */
  readonly words: readonly string[];
  readonly values: Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;
  readonly json: boolean;
  readonly env: Environment;
  readonly home: string;
  readonly version: string;
  readonly stdin: NodeJS.ReadStream;
  /** For results: programs read them. */
  out(text: string): void;
  /** For people: prompts, remarks, failures. */
  say(text: string): void;
}

/** `incomplete`: a reply ended too early, or only its silence says that it ended. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  unreachable: 4,
  incomplete: 5,
} as const;

export const printJson = ({ out }: CommandContext, value: unknown): void =>
  out(`${sanitizedJson(value, 2)}\n`);

/** Wrong usage: a sentence for the terminal, exit code 2. */
export class UsageError extends Error {}
