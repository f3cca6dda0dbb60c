/* Keeps the findings of `doorward service install`. The doctor compares them with the present, and
 * the command writes the same file again from another terminal. */
import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { createPrivateFolder, readJson, writeFileAtomic } from "../../lib/files/index.ts";
import { isObject } from "../../lib/util.ts";
import { resolveHandler } from "../handler/index.ts";
import type { Environment } from "../load/index.ts";

export interface ServiceFindings {
  /** The file of the service manager. */
  readonly file: string;
  /** Path of Node. */
  readonly node: string;
  /** Path of `doorward.js`. */
  readonly script: string;
  /** Variables of the service, such as PATH. */
  readonly variables: Environment;
  /** Path of the program of `handler`; absent for the echo, and if it was not found. */
  readonly program?: string;
  /** Name of the user. */
  readonly user: string;
  /** True if the service runs from boot on; absent on systems without lingering. */
  readonly lingers?: boolean;
}

/** Variables by which nvm, pyenv, venv and conda choose a program. None is a secret. */
const chosen = ["VIRTUAL_ENV", "CONDA_PREFIX", "NVM_DIR", "PYENV_ROOT", "PYENV_VERSION"];
/** Folders that npm and npx add to PATH for one command. */
const isOfNpm = (folder: string): boolean => /[\\/](?:_npx[\\/]|node_modules[\\/])/.test(folder);

/** @returns The variables of this terminal that a service needs to find the same programs. */
export function serviceVariables(env: Environment): Environment {
  const isPlain = (text: string): boolean => text !== "" && !/\p{Cc}/u.test(text);
  const folders = (env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => isPlain(folder) && isAbsolute(folder) && !isOfNpm(folder));
  const path = [...new Set(folders)].join(delimiter);
  const others = chosen.flatMap((name) => {
    const value = env[name] ?? "";
    return isPlain(value) ? [[name, value] as const] : [];
  });
  return { ...(path !== "" && { PATH: path }), ...Object.fromEntries(others) };
}

/** A user without a name, as in some containers, has no systemd session either. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return "USER";
  }
}

/** @returns True if systemd starts the services of this user at boot. */
export const isLingering = (user: string): boolean =>
  existsSync(join("/var/lib/systemd/linger", user));

interface ProgramOptions {
  readonly home: string;
  readonly variables: Environment;
  /** Unparsed `handler`. */
  readonly handler: unknown;
  /** Path of `config.json`. */
  readonly file: string;
}

/**
 * Finds the program of `handler` as a service with these variables does.
 *
 * @returns Its path; undefined for the echo.
 * @throws PROGRAM_NOT_FOUND and the other errors of a start.
 */
export async function serviceProgram(options: ProgramOptions): Promise<string | undefined> {
  const { home, variables, handler, file } = options;
  const resolved = await resolveHandler(handler, { home, env: variables, file });
  return resolved?.options.command[0];
}

/** The file in the home; a backup leaves it out. */
export const findingsFile = "state/service.json";

export async function noteFindings(home: string, findings: ServiceFindings): Promise<void> {
  await createPrivateFolder(join(home, "state"));
  const text = `${JSON.stringify(findings, null, 2)}\n`;
  await writeFileAtomic(join(home, findingsFile), Buffer.from(text), { mode: 0o600 });
}

const isText = (value: unknown): value is string => typeof value === "string";

/** @returns Undefined if no service was installed, or the file cannot be read. */
export async function readFindings(home: string): Promise<ServiceFindings | undefined> {
  const found = await readJson(join(home, findingsFile)).catch(() => undefined);
  const { file, node, script, variables, program, user, lingers } = found?.value ?? {};
  if (!isText(file) || !isText(node) || !isText(script) || !isText(user)) return undefined;
  const own = Object.entries(isObject(variables) ? variables : {});
  return {
    ...{ file, node, script, user },
    variables: Object.fromEntries(
      own.flatMap(([name, value]) => (isText(value) ? [[name, value]] : [])),
    ),
    ...(isText(program) && { program }),
    ...(typeof lingers === "boolean" && { lingers }),
  };
}
