import { access } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { assertTrusted, withParentFolders } from "../../lib/files/index.ts";
import { pluginErrors } from "./errors.ts";

/** The file that a plugin's name means, seen from the home alone. Rejects `PLUGIN_NOT_FOUND`, and
 *  `FILE_WRITABLE_BY_OTHERS` when somebody else could change it, or a folder between it and the home. */
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
