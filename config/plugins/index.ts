/* Loads the third-party plugins that `config.json` names. Their code runs with the rights of the
 * owner, so files that another user can change are rejected. If a plugin fails, the others run,
 * unless it is required. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  checkPlugins,
  codeOf,
  type AnyPlugin,
  type Health,
  type Section,
} from "../../kernel/index.ts";
import type { PluginView } from "../../plugins/dashboard/index.ts";
import { defined } from "../../lib/util.ts";
import { assertTrusted, readJson, withParentFolders } from "../../lib/files/index.ts";
import {
  load,
  loadErrors,
  suggestOneOf,
  withoutComments,
  type Loaded,
  type Places,
} from "../load/index.ts";
import { sectionsOf, type SectionInfo } from "../load/sections.ts";
import {
  errorSummary,
  loadErrorAdvice,
  resolvePluginFile,
  withLoadTimeout,
  wrapPlugin,
} from "./foreign.ts";
import { pluginErrors } from "./errors.ts";

export { resolvePluginFile } from "./foreign.ts";

interface PluginsOptions extends Places {
  /** Built-in plugins that have settings. */
  readonly builtIn: readonly AnyPlugin[];
  /** Names of the other built-in plugins. */
  readonly taken: readonly string[];
  /** Removes secrets from messages of third-party code. */
  readonly redact: (text: string) => string;
}

/** An entry with its plugin, or with the reason why it failed to load. */
interface FoundPlugin extends PluginEntry {
  /** Absent if loading failed; `problem` has the reason. */
  readonly plugin?: AnyPlugin;
  readonly problem?: string;
}

/** @returns The configured plugins and their states, for the dashboard and commands. */
export function toPluginViews(
  found: readonly FoundPlugin[],
  { plugins }: Pick<Health, "plugins">,
): PluginView[] {
  return found.map(({ from, required, plugin, problem }) => {
    const name = plugin?.name ?? from;
    if (problem !== undefined) return { name, from, required, state: "failed", reason: problem };
    const { phase = "waiting", reason } = plugins.find((each) => each.name === name) ?? {};
    return defined({ name, from, required, state: stateByPhase[phase], reason });
  });
}
const stateByPhase = {
  waiting: "starting",
  starting: "starting",
  started: "starting",
  ready: "started",
  failed: "failed",
  stopping: "stopped",
  stopped: "stopped",
} as const;

/**
 * Loads the plugins that `config.json` names, and the settings of all plugins.
 *
 * @throws The errors of `load`.
 * @throws FILE_WRITABLE_BY_OTHERS if another user can change a plugin or `config.json`.
 * @throws The error of a required plugin that fails to load.
 */
export async function loadWithPlugins(
  options: PluginsOptions,
): Promise<Loaded & { readonly found: FoundPlugin[] }> {
  const { builtIn, home, config: file = join(home, "config.json") } = options;
  const content = withoutComments((await readJson(file))?.value);
  const entries = readEntries(content?.["plugins"], file);
  if (entries.length > 0) await assertTrusted([...(await withParentFolders(file)), home]);
  const found: FoundPlugin[] = [];
  for (const entry of entries) found.push(await loadEntry(entry, found, options));
  const plugins = found.flatMap(({ plugin }) => plugin ?? []);
  const failed = found.filter(({ plugin }) => !plugin).map(({ from }) => from);
  return { ...(await load([...builtIn, ...plugins], { ...options, failed })), found };
}

async function loadEntry(
  entry: PluginEntry,
  before: readonly FoundPlugin[],
  options: PluginsOptions,
): Promise<FoundPlugin> {
  try {
    const others = [...options.builtIn, ...before.flatMap(({ plugin }) => plugin ?? [])];
    return { ...entry, plugin: await loadPlugin(entry, others, options) };
  } catch (error) {
    if (entry.required || codeOf(error) === "FILE_WRITABLE_BY_OTHERS") throw error;
    return { ...entry, problem: options.redact((error as Error).message) };
  }
}

async function loadPlugin(
  entry: PluginEntry,
  others: readonly AnyPlugin[],
  options: PluginsOptions,
): Promise<AnyPlugin> {
  const { from, required } = entry;
  const path = await resolvePluginFile(from, options.home);
  try {
    const plugin = await withLoadTimeout(from, importPlugin(from, path));
    checkPlugins([{ ...plugin, config: undefined }]);
    const taken = [...options.taken, ...others.map(({ name }) => name)];
    if (taken.includes(plugin.name)) throw pluginErrors.PLUGIN_NAME_TAKEN(from, plugin.name);
    if (plugin.config) await checkSettings(plugin, others, options);
    return { ...wrapPlugin(plugin, options.redact), optional: !required };
  } catch (error) {
    if (codeOf(error) !== "internal") throw error;
    const problem = options.redact(
      `${errorSummary(error)}${loadErrorAdvice(error, path, options.home)}`,
    );
    throw pluginErrors.PLUGIN_BROKEN(from, problem, { cause: error });
  }
}

async function importPlugin(from: string, path: string): Promise<AnyPlugin> {
  const { default: made } = (await import(/* @vite-ignore */ pathToFileURL(path).href)) as {
    default?: unknown;
  };
  const plugin = (typeof made === "function" ? await (made as () => unknown)() : made) as
    | AnyPlugin
    | null
    | undefined;
  if (typeof plugin?.name !== "string" || typeof plugin.start !== "function")
    throw pluginErrors.PLUGIN_EXPORT(from);
  const { section, schema } = (plugin.config ?? { section: "", schema: undefined }) as Partial<
    Section<unknown>
  >;
  const isUsable = typeof section === "string" && schema?.["~standard"]?.jsonSchema !== undefined;
  if (plugin.config && !isUsable) throw pluginErrors.PLUGIN_SCHEMA(from);
  return plugin;
}

/** Checks the keys of this plugin only; other plugins of the section check their own. */
async function checkSettings(
  plugin: AnyPlugin,
  others: readonly AnyPlugin[],
  places: Places,
): Promise<void> {
  // Plugins that follow in the list may read the other sections.
  const { config } = await load([...others, plugin], { ...places, isPartial: true });
  const [{ section, properties }] = sectionsOf([plugin]) as [SectionInfo];
  const own = Object.entries(config[section] ?? {}).filter(([key]) =>
    Object.hasOwn(properties, key),
  );
  checkPlugins([plugin], { [section]: Object.fromEntries(own) });
}

/** One entry of `plugins` in `config.json`. */
interface PluginEntry {
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
