import { access } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { AnyPlugin, Awaitable, PluginShape, Scope } from "../../kernel/index.ts";
import { assertTrusted, withParentFolders } from "../../lib/files/index.ts";
import { pluginErrors } from "./errors.ts";

/** The file that a plugin's name means, seen from the home alone. Rejects `PLUGIN_NOT_FOUND`,
 *  and `FILE_WRITABLE_BY_OTHERS` when somebody else could change it, or a folder between it and
 *  the home. */
export async function resolvePluginFile(from: string, home: string): Promise<string> {
  const path = from.startsWith("./") ? join(home, from) : await resolvePackage(from, home);
  const isThere = await access(path).then(
    () => true,
    () => false,
  );
  if (!isThere)
    throw pluginErrors.PLUGIN_NOT_FOUND(from, home, "look at its name, which counts from there");
  const own = await withParentFolders(path);
  await assertTrusted([...own, ...foldersBetween(home, path)]);
  return own[0]!;
}

async function resolvePackage(name: string, home: string): Promise<string> {
  const folder = name
    .split("/")
    .slice(0, name.startsWith("@") ? 2 : 1)
    .join("/");
  const isFile = await access(join(home, name)).then(
    () => true,
    () => false,
  );
  const install = isFile
    ? `a file of the home begins with "./": "./${name}"`
    : `install it: npm install --prefix ${home} ${folder}`;
  // A resolver alone would look for it in the folders above the home too.
  const isInstalled = await access(join(home, "node_modules", folder)).then(
    () => true,
    () => false,
  );
  if (!isInstalled) throw pluginErrors.PLUGIN_NOT_FOUND(name, home, install);
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

/** What an error of foreign code says: one line of at most 300 characters. */
export function errorSummary(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s+/g, " ").slice(0, 300);
}

/** The plugin as the contract has it and nothing else of it; what its start throws says whose it
 *  is. */
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

/** A module may wait for something that never comes. The time is real: what it waits for is. */
export async function withLoadTimeout<T>(from: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(pluginErrors.PLUGIN_BROKEN(from, "it took longer than 10 s.")),
      10_000,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What helps against an error of a plugin that was loaded from `path`, to follow its words: a
 *  remedy, or the place in its author's code. */
export function loadErrorAdvice(error: unknown, path: string, home: string): string {
  const {
    name,
    code,
    message = "",
    stack = "",
  } = (error ?? {}) as Partial<Error> & { readonly code?: unknown };
  // Node tells the place of such an error to a terminal alone.
  if (name === "SyntaxError") return `; see where: node --check ${path}`;
  if (code === "ERR_UNKNOWN_FILE_EXTENSION")
    return "; name the JavaScript file that a compiler makes of it";
  const [, missing] = /^Cannot find package '([\w@./-]{1,100})'/.exec(message) ?? [];
  if (code === "ERR_MODULE_NOT_FOUND" && missing)
    return `; install it: npm install --prefix ${home} ${missing}`;
  const frame =
    stack.split("\n").find((line) => /^ +at /.test(line) && !line.includes("node:")) ?? "";
  const [, place] = /([\w.-]+:\d+:\d+)\)?$/.exec(frame) ?? [];
  return place === undefined ? "" : ` (${place})`;
}
