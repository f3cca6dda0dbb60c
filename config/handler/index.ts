/* Reads `handler` in `config.json`: the built-in echo, a program, or an agent. Both run with the
 * rights of the owner, so startup fails if another user can change its files. */
import { constants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { Plugin } from "../../kernel/index.ts";
import { assertTrusted, readJson, watchFiles, withParentFolders } from "../../lib/files/index.ts";
import {
  acpHandlerSchema,
  type AcpHandlerConfig,
  type AcpOptions,
} from "../../plugins/acp/index.ts";
import {
  handlerSchema,
  programEnvironment,
  type HandlerConfig,
  type ProgramOptions,
} from "../../plugins/program/index.ts";
import { loadErrors, suggestOneOf, withoutComments, type Environment } from "../load/index.ts";
import { handlerErrors } from "./errors.ts";
import { isObject } from "../../lib/util.ts";

const isFile = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isFile() === true;

const isFolder = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined))?.isDirectory() === true;

const canRun = async (path: string): Promise<boolean> =>
  (await isFile(path)) &&
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

/**
 * Finds the file that the operating system would run for the first word of a command.
 *
 * @throws PROGRAM_NOT_FOUND if there is no executable file.
 */
async function findProgram(word: string, cwd: string, searchPath: string): Promise<string> {
  if (process.platform === "win32") return word; // Windows tries its own suffixes and folders
  if (word.includes("/")) {
    const path = resolve(cwd, word);
    if (await canRun(path)) return path;
    const why =
      `${path} is not an executable file; ` +
      `check its name, or make it executable: chmod +x ${path}`;
    throw handlerErrors.PROGRAM_NOT_FOUND(word, why);
  }
  for (const folder of searchPath.split(delimiter)) {
    const path = resolve(cwd, join(folder || ".", word));
    if (await canRun(path)) return path;
  }
  const where =
    `no folder of PATH (${searchPath || "empty"}) contains it; ` +
    "install it, or write its absolute path";
  throw handlerErrors.PROGRAM_NOT_FOUND(word, where);
}

/** The command after `doorward run`. */
export interface GivenProgram {
  readonly command: readonly [string, ...string[]];
  /** Working directory of `doorward run`. */
  readonly cwd: string;
  /** True if it is an agent that speaks the Agent Client Protocol. */
  readonly isAcp?: boolean;
}

interface HandlerOptions {
  readonly home: string;
  readonly env: Environment;
  /** Path of `config.json`. */
  readonly file: string;
  /** Overrides the file. */
  readonly given?: GivenProgram | undefined;
}

const examples = {
  command: '{"command": ["python3", "agent.py"]}',
  acp: '{"acp": ["opencode", "acp"]}',
} as const;
const splitCommandHint = (text: string, word: keyof typeof examples = "command"): string =>
  JSON.stringify({ [word]: text.trim().split(/\s+/) }).replaceAll('","', '", "');

/**
 * Parses the value of `handler`. Errors contain a correct example.
 *
 * @returns The program or the agent, or undefined for the echo.
 * @throws CONFIG_BAD_VALUE, CONFIG_UNKNOWN_KEY
 */
export function parseHandler(
  raw: unknown,
  file: string,
): HandlerConfig | AcpHandlerConfig | undefined {
  if (raw === undefined || raw === null || raw === "echo") return undefined;
  if (!isObject(raw)) {
    const form =
      typeof raw === "string" && /[\s/.]/.test(raw) ? splitCommandHint(raw) : examples.command;
    throw loadErrors.CONFIG_BAD_VALUE(
      file,
      "handler",
      `"echo", or a program and its arguments as a list: ${form}`,
    );
  }
  const isAcp = "acp" in raw;
  if (isAcp && "command" in raw)
    throw loadErrors.CONFIG_BAD_VALUE(
      file,
      "handler",
      'either "command", for a program, or "acp", for an agent, and not both',
    );
  const schema = isAcp ? acpHandlerSchema : handlerSchema;
  const known = Object.keys(schema.shape);
  for (const key of Object.keys(raw)) {
    if (!known.includes(key))
      throw loadErrors.CONFIG_UNKNOWN_KEY(file, `handler.${key}`, suggestOneOf(key, known));
  }
  const word = isAcp ? "acp" : "command";
  const command = raw[word];
  if (!Array.isArray(command) || command.length === 0) {
    const form = typeof command === "string" ? splitCommandHint(command, word) : examples[word];
    throw loadErrors.CONFIG_BAD_VALUE(
      file,
      `handler.${word}`,
      `a list of the program and its arguments, without shell syntax: ${form}`,
    );
  }
  const result = schema.safeParse(raw);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = ["handler", ...(issue?.path ?? [])].join(".");
  throw loadErrors.CONFIG_BAD_VALUE(
    file,
    path,
    issue?.message.replace(/^Invalid \w+: expected /, "") ?? "valid",
  );
}

/** @returns All paths that decide which code runs: the program, the files among its arguments,
 *  their folders, and the working directory. */
async function trustedPaths(words: readonly string[], cwd: string): Promise<string[]> {
  const files: string[] = [];
  for (const word of words) {
    const path = resolve(cwd, word);
    if (await isFile(path)) files.push(...(await withParentFolders(path)));
  }
  return [cwd, ...files];
}

/** True if the path is the folder, or lies in it. */
function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/**
 * Checks the folder that the program may send files from. A program that was misled could otherwise
 * publish the tokens of the home.
 *
 * @throws CONFIG_BAD_VALUE, FILE_WRITABLE_BY_OTHERS
 */
async function requireMediaFolder(folder: string, home: string, file: string): Promise<string> {
  const fail = (problem: string) =>
    loadErrors.CONFIG_BAD_VALUE(file, "handler.media_dir", `an existing folder, and ${problem}`);
  if (!(await isFolder(folder))) throw fail(`${folder} is not one`);
  const [real, realHome] = [await realpath(folder), await realpath(home)];
  if (isWithin(realHome, real) || isWithin(real, realHome))
    throw fail(`${folder} contains the home or lies in it; choose another one`);
  await assertTrusted([folder]);
  return folder;
}

/** The application that `handler` names, with the options of its plugin. */
type ResolvedHandler =
  | { readonly kind: "program"; readonly options: ProgramOptions }
  | { readonly kind: "acp"; readonly options: AcpOptions };

const fromCommandLine = ({ command, isAcp }: GivenProgram): HandlerConfig | AcpHandlerConfig =>
  isAcp === true ? acpHandlerSchema.parse({ acp: command }) : handlerSchema.parse({ command });

/**
 * Resolves `handler`, or the program of the command line, to options of its plugin.
 *
 * @returns The plugin and its options, or undefined for the echo.
 * @throws PROGRAM_NOT_FOUND, FILE_WRITABLE_BY_OTHERS, CONFIG_BAD_VALUE, CONFIG_UNKNOWN_KEY
 */
export async function resolveHandler(
  raw: unknown,
  places: HandlerOptions,
): Promise<ResolvedHandler | undefined> {
  const { home, env, file, given } = places;
  const read = given ? fromCommandLine(given) : parseHandler(raw, file);
  if (!read) return undefined;
  if (!given) await assertTrusted([...(await withParentFolders(file)), home]);
  const cwd = given?.cwd ?? resolve(dirname(file), read.cwd ?? ".");
  if (!(await isFolder(cwd)))
    throw loadErrors.CONFIG_BAD_VALUE(
      file,
      "handler.cwd",
      `an existing folder, and ${cwd} is not one`,
    );
  const all = programEnvironment(env, "service", read.env);
  const [word, ...words] = "acp" in read ? read.acp : read.command;
  const program = await findProgram(word, cwd, all["PATH"] ?? "/usr/bin:/bin");
  await assertTrusted(await trustedPaths([program, ...words], cwd));
  const common = {
    command: [program, ...words] as const,
    cwd,
    env: all,
    restart: read.restart,
    stopGraceS: read.stop_grace_s,
    questionMaxS: read.question_max_s,
    ...(read.suggestions && { suggestions: read.suggestions }),
  };
  if ("acp" in read)
    return { kind: "acp", options: { ...common, ...(read.mode && { mode: read.mode }) } };
  const options = {
    ...common,
    ...(read.media_dir !== undefined && {
      mediaDir: await requireMediaFolder(resolve(dirname(file), read.media_dir), home, file),
    }),
    stateDir: join(home, "state", "program"),
    timeoutS: read.timeout_s,
  };
  return { kind: "program", options };
}

/** @returns Values of `handler.env` that look like secrets, so that logs can redact them. */
export function handlerSecrets(raw: unknown): string[] {
  const { env } = (isObject(raw) ? raw : {}) as { env?: unknown };
  if (!isObject(env)) return [];
  const isSecret = ([name, value]: [string, unknown]): boolean =>
    typeof value === "string" && /token|passw|secret|key|credential|auth/i.test(name);
  return Object.entries(env)
    .filter(isSecret)
    .map(([, value]) => value as string);
}

/** Creates a plugin that logs when an edit of `handler` needs a restart. */
export function watchHandler(file: string, started: unknown): Plugin {
  const form = (handler: unknown): string => JSON.stringify(handler ?? "echo");
  return {
    name: "handler",
    api: 1,
    start({ log, onStop }) {
      let last = form(started);
      const watch = watchFiles([file], async () => {
        const read = await readJson(file).catch(() => undefined);
        const now = read && form(withoutComments(read.value["handler"]));
        if (now === undefined || now === last) return;
        last = now;
        if (now === form(started))
          log.info({ file }, '"handler" names the running application again');
        else log.warn({ file }, '"handler" was changed: it takes effect after a restart');
      });
      onStop(() => watch.stop());
    },
  };
}
