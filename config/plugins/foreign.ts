// Finds third-party plugins in the home, wraps them and explains their errors.
import { existsSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { AnyPlugin, Awaitable, PluginShape, Scope } from "../../kernel/index.ts";
import { assertTrusted, withParentFolders } from "../../lib/files/index.ts";
import { pluginErrors } from "./errors.ts";

/**
 * Finds the file of a plugin in the home.
 *
 * @throws PLUGIN_NOT_FOUND if the home does not contain it.
 * @throws FILE_WRITABLE_BY_OTHERS if another user can change the file, or a folder between the file
 * and the home.
 */
export async function resolvePluginFile(from: string, home: string): Promise<string> {
  const path = from.startsWith("./") ? join(home, from) : await resolvePackage(from, home);
  if (!existsSync(path))
    throw pluginErrors.PLUGIN_NOT_FOUND(
      from,
      home,
      "check its name, which is relative to that folder",
    );
  const own = await withParentFolders(path);
  await assertTrusted([...own, ...foldersBetween(home, path)]);
  return own[0]!;
}

async function resolvePackage(name: string, home: string): Promise<string> {
  const folder = name
    .split("/")
    .slice(0, name.startsWith("@") ? 2 : 1)
    .join("/");
  const install = existsSync(join(home, name))
    ? `for a file in the home, write "./${name}"`
    : `install it: npm install --prefix ${home} ${folder}`;
  // Without this check, the resolver would also search the folders above the home.
  if (!existsSync(join(home, "node_modules", folder)))
    throw pluginErrors.PLUGIN_NOT_FOUND(name, home, install);
  const { resolve } = await import("import-meta-resolve");
  try {
    return fileURLToPath(resolve(name, pathToFileURL(join(home, "config.json")).href));
  } catch (error) {
    throw pluginErrors.PLUGIN_BROKEN(name, (error as Error).message, { cause: error });
  }
}

function foldersBetween(home: string, path: string): string[] {
  const way = relative(home, dirname(path)).split(sep);
  if (way[0] === "..") return [];
  return way.map((_, at) => join(home, ...way.slice(0, at + 1)));
}

/** @returns The message of an error of third-party code: one line of at most 300 characters. */
export function errorSummary(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s+/g, " ").slice(0, 300);
}

/** Copies only the members of the plugin contract. Errors of its `start` name the plugin and are
 *  redacted. */
export function wrapPlugin(plugin: AnyPlugin, redact: (text: string) => string): AnyPlugin {
  const { name, api, needs, uses, config } = plugin;
  const guard = async <T>(run: () => Awaitable<T>): Promise<T> => {
    try {
      return await run();
    } catch (error) {
      throw pluginErrors.PLUGIN_FAILED(name, redact(errorSummary(error)), { cause: error });
    }
  };
  return {
    name,
    api,
    needs,
    uses,
    config,
    start: (scope: Scope<PluginShape>) =>
      guard(() => {
        const onReady: Scope<PluginShape>["onReady"] = (step) => scope.onReady(() => guard(step));
        return plugin.start({ ...scope, onReady } as never);
      }),
  };
}

/** Limits the loading of a module to 10 s. Uses real time, because a module waits for real I/O. */
export async function withLoadTimeout<T>(from: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(pluginErrors.PLUGIN_BROKEN(from, "loading took longer than 10 s.")),
      10_000,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * @returns Text to append to the message of an error from the plugin at `path`: a fix, or the
 * position in its code.
 */
export function loadErrorAdvice(error: unknown, path: string, home: string): string {
  const {
    name,
    code,
    message = "",
    stack = "",
  } = (error ?? {}) as Partial<Error> & { readonly code?: unknown };
  // Node prints the position of a syntax error only to a terminal.
  if (name === "SyntaxError") return `; find the position with: node --check ${path}`;
  if (code === "ERR_UNKNOWN_FILE_EXTENSION")
    return "; compile it, and name the resulting JavaScript file";
  const [, missing] = /^Cannot find package '([\w@./-]{1,100})'/.exec(message) ?? [];
  if (code === "ERR_MODULE_NOT_FOUND" && missing)
    return `; install it: npm install --prefix ${home} ${missing}`;
  const frame =
    stack.split("\n").find((line) => /^ +at /.test(line) && !line.includes("node:")) ?? "";
  const [, place] = /(?<![\w.-])([\w.-]+:\d+:\d+)\)?$/.exec(frame) ?? [];
  return place === undefined ? "" : ` (${place})`;
}
