// Parses the list `plugins` in `config.json`.
import { suggestOneOf, loadErrors } from "../load/index.ts";

/** One entry of `plugins` in `config.json`. */
export interface PluginEntry {
  /** Name in the file: `./my-channel.js` or `doorward-channel-mqtt`. */
  readonly from: string;
  /** If true, startup fails when the plugin fails. */
  readonly required: boolean;
}

const maxPlugins = 50;
const packagePattern = /^(@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*(\/[\w.-]+)*$/i;
const homePathPattern = /^\.\/[^\0\\]+$/;
const entryKeys = ["name", "required"];

/**
 * Parses the list without looking for the files.
 *
 * @throws CONFIG_BAD_VALUE, CONFIG_UNKNOWN_KEY
 */
export function readEntries(given: unknown, file: string): PluginEntry[] {
  if (given === undefined || given === null) return [];
  if (!Array.isArray(given) || given.length > maxPlugins) {
    throw loadErrors.CONFIG_BAD_VALUE(
      file,
      "plugins",
      `a list of at most ${maxPlugins} plugins, like ["./my-channel.js"]`,
    );
  }
  const entries = given.map((entry, at) => readEntry(entry, `plugins[${at}]`, file));
  const again = entries.find(
    ({ from }, at) => entries.findIndex((other) => other.from === from) < at,
  );
  if (again)
    throw loadErrors.CONFIG_BAD_VALUE(file, "plugins", `a list without "${again.from}" twice`);
  return entries;
}

function readEntry(entry: unknown, path: string, file: string): PluginEntry {
  const {
    name,
    required = false,
    ...rest
  } = (typeof entry === "string" ? { name: entry } : (entry ?? {})) as RawEntry;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined)
    throw loadErrors.CONFIG_UNKNOWN_KEY(
      file,
      `${path}.${unknown}`,
      suggestOneOf(unknown, entryKeys),
    );
  if (typeof required !== "boolean")
    throw loadErrors.CONFIG_BAD_VALUE(file, `${path}.required`, "true or false");
  const isWithin =
    typeof name === "string" && !name.split("/").includes("..") && name.length <= 300;
  if (isWithin && (packagePattern.test(name) || homePathPattern.test(name)))
    return { from: name, required };
  const forms =
    'a file below the home like "./my-channel.js", the name of a package, ' +
    'or {"name": …, "required": true}';
  const given = typeof name === "string" ? `, not ${JSON.stringify(name.slice(0, 100))}` : "";
  throw loadErrors.CONFIG_BAD_VALUE(file, path, `${forms}${given}`);
}
type RawEntry = { readonly [key: string]: unknown };
