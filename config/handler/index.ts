/* `handler` of `config.json`: the application that comes with the package, or a program of the
 * owner's. A program runs with the owner's rights, so nobody else may be able to change what is
 * run. */
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, dirname, join, resolve } from "node:path";
import type { Plugin } from "../../kernel/index.ts";
import { assertTrusted, readJson, watchFiles, withParentFolders } from "../../lib/files/index.ts";
import {
  handlerSchema,
  programEnvironment,
  type HandlerConfig,
  type ProgramOptions,
} from "../../plugins/program/index.ts";
import { loadErrors, suggestOneOf, type Environment } from "../load/index.ts";
import { handlerErrors } from "./errors.ts";
import { isObject } from "../../lib/util.ts";

export { handlerErrors } from "./errors.ts";

const canRun = async (path: string): Promise<boolean> => {
  const isFile = await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
  return (
    isFile &&
    access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
  );
};

/** The file that the system would run for the first word of a command. Rejects
 *  `PROGRAM_NOT_FOUND`. */
export async function findProgram(word: string, cwd: string, searchPath: string): Promise<string> {
  if (process.platform === "win32") return word; // it tries suffixes and folders of its own
  if (word.includes("/")) {
    const path = resolve(cwd, word);
    if (await canRun(path)) return path;
    const why = `${path} is no file that may be run; look at its name, or make it one: chmod +x ${path}`;
    throw handlerErrors.PROGRAM_NOT_FOUND(word, why);
  }
  for (const folder of searchPath.split(delimiter)) {
    const path = resolve(cwd, join(folder || ".", word));
    if (await canRun(path)) return path;
  }
  const where = `no folder of PATH (${searchPath || "empty"}) has it; install it, or name it by its whole path`;
  throw handlerErrors.PROGRAM_NOT_FOUND(word, where);
}

/** What `doorward run` was given. */
export interface GivenProgram {
  readonly command: readonly [string, ...string[]];
  /** Where it was given. */
  readonly cwd: string;
}

export interface HandlerOptions {
  readonly home: string;
  readonly env: Environment;
  readonly brand: string;
  /** Path of `config.json`. */
  readonly file: string;
  /** Stands above the file. */
  readonly given?: GivenProgram | undefined;
}

const handlerExample = '{"command": ["python3", "agent.py"]}';
const splitCommandHint = (text: string): string =>
  JSON.stringify({ command: text.trim().split(/\s+/) }).replaceAll('","', '", "');

/** Undefined: the echo. Throws `CONFIG_BAD_VALUE` and `CONFIG_UNKNOWN_KEY`, with what to write
 *  instead. */
export function parseHandler(raw: unknown, file: string): HandlerConfig | undefined {
  if (raw === undefined || raw === null || raw === "echo") return undefined;
  if (!isObject(raw)) {
    const form =
      typeof raw === "string" && /[\s/.]/.test(raw) ? splitCommandHint(raw) : handlerExample;
    throw loadErrors.CONFIG_BAD_VALUE(
      file,
      "handler",
      `"echo", or a program with its words in a list: ${form}`,
    );
  }
  const known = Object.keys(handlerSchema.shape);
  for (const key of Object.keys(raw)) {
    if (!known.includes(key))
      throw loadErrors.CONFIG_UNKNOWN_KEY(file, `handler.${key}`, suggestOneOf(key, known));
  }
  const { command } = raw as { command?: unknown };
  if (!Array.isArray(command) || command.length === 0) {
    const form = typeof command === "string" ? splitCommandHint(command) : handlerExample;
    throw loadErrors.CONFIG_BAD_VALUE(
      file,
      "handler.command",
      `a list of words, which no shell reads: ${form}`,
    );
  }
  const result = handlerSchema.safeParse(raw);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = ["handler", ...(issue?.path ?? [])].join(".");
  throw loadErrors.CONFIG_BAD_VALUE(
    file,
    path,
    issue?.message.replace(/^Invalid \w+: expected /, "") ?? "valid",
  );
}

/** All that decides what is run: the program, its folder, the folder it runs in, and files among
 *  its words. */
async function trustedPaths(words: readonly string[], cwd: string): Promise<string[]> {
  const files: string[] = [];
  for (const word of words) {
    const path = resolve(cwd, word);
    const isFile = await stat(path).then(
      (found) => found.isFile(),
      () => false,
    );
    if (isFile) files.push(...(await withParentFolders(path)));
  }
  return [cwd, ...files];
}

/** What the plugin `command` is made of; undefined: the echo answers. Rejects `PROGRAM_NOT_FOUND`,
 *  `FILE_WRITABLE_BY_OTHERS` and what reading the setting throws. */
export async function resolveProgram(
  raw: unknown,
  places: HandlerOptions,
): Promise<ProgramOptions | undefined> {
  const { home, env, brand, file, given } = places;
  const read = given ? handlerSchema.parse({ command: given.command }) : parseHandler(raw, file);
  if (!read) return undefined;
  if (!given) await assertTrusted([...(await withParentFolders(file)), home]);
  const cwd = given?.cwd ?? resolve(dirname(file), read.cwd ?? ".");
  const isFolder = await stat(cwd).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder)
    throw loadErrors.CONFIG_BAD_VALUE(
      file,
      "handler.cwd",
      `a folder that exists, and ${cwd} is none`,
    );
  const all = programEnvironment(env, brand, read.env);
  const [word, ...words] = read.command;
  const program = await findProgram(word, cwd, all["PATH"] ?? "/usr/bin:/bin");
  await assertTrusted(await trustedPaths([program, ...words], cwd));
  return {
    command: [program, ...words],
    cwd,
    env: all,
    restart: read.restart,
    timeoutS: read.timeout_s,
  };
}

/** Values of its environment that look like secrets, for the log to keep out. */
export function handlerSecrets(raw: unknown): string[] {
  const { env } = (isObject(raw) ? raw : {}) as { env?: unknown };
  if (!isObject(env)) return [];
  const isSecret = ([name, value]: [string, unknown]): boolean =>
    typeof value === "string" && /token|passw|secret|key|credential|auth/i.test(name);
  return Object.entries(env)
    .filter(isSecret)
    .map(([, value]) => value as string);
}

/** Says in the log that a changed `handler` waits for a restart. */
export function watchHandler(file: string, started: unknown): Plugin {
  const form = (handler: unknown): string => JSON.stringify(handler ?? "echo");
  return {
    name: "handler",
    api: 1,
    start({ log, onStop }) {
      let told = form(started);
      const stop = watchFiles([file], async () => {
        const read = await readJson(file).catch(() => undefined);
        const now = read && form(read.value["handler"]);
        if (now === undefined || now === told) return;
        told = now;
        if (now === form(started)) log.info({ file }, '"handler" says again what runs');
        else log.warn({ file }, '"handler" was changed: it takes effect after a restart');
      });
      onStop(stop);
    },
  };
}
