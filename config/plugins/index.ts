/* Plugins by other authors, which `config.json` names. Their code runs as the owner: what
 * another user could change is refused. One that cannot be loaded or started leaves the others
 * running, unless it is required. */
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
import { assertTrusted, withParentFolders } from "../../lib/files/index.ts";
import { load, type Loaded, type Places } from "../load/index.ts";
import { sectionsOf, type SectionInfo } from "../load/sections.ts";
import {
  loadErrorAdvice,
  withLoadTimeout,
  resolvePluginFile,
  wrapPlugin,
  errorSummary,
} from "./foreign.ts";
import { readEntries, type PluginEntry } from "./entries.ts";
import { pluginErrors } from "./errors.ts";

export { readEntries } from "./entries.ts";
export { resolvePluginFile } from "./foreign.ts";

export interface PluginsOptions extends Places {
  /** The launcher's own plugins that have settings. */
  readonly builtIn: readonly AnyPlugin[];
  /** Names of its other plugins. */
  readonly taken: readonly string[];
  /** Takes secrets out of what foreign code says. */
  readonly redact: (text: string) => string;
}

/** An entry and what became of it so far. */
export interface FoundPlugin extends PluginEntry {
  /** Absent: it could not be loaded, and `problem` says why. */
  readonly plugin?: AnyPlugin;
  readonly problem?: string;
}

/** For the owner: which are named, and how each fares. */
export function toPluginViews(
  found: readonly FoundPlugin[],
  { plugins }: Pick<Health, "plugins">,
): PluginView[] {
  return found.map(({ from, required, plugin, problem }) => {
    const name = plugin?.name ?? from;
    if (problem !== undefined) return { name, from, required, state: "failed", reason: problem };
    const { phase = "waiting", reason } = plugins.find((each) => each.name === name) ?? {};
    return {
      name,
      from,
      required,
      state: stateByPhase[phase],
      ...(reason === undefined ? {} : { reason }),
    };
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

/** Reads the settings of the launcher's own plugins and of those that `config.json` names.
 *  Rejects what `load` does, also when one of them could be changed by others, and when a
 *  required one cannot be loaded. */
export async function loadWithPlugins(
  options: PluginsOptions,
): Promise<Loaded & { readonly found: FoundPlugin[] }> {
  const { builtIn, home, config: file = join(home, "config.json") } = options;
  // Only the list: what the files say else is read with the plugins that are in it.
  const { pluginEntries } = await load([], { home, config: file, env: {}, stray: "warn" });
  const entries = readEntries(pluginEntries, file);
  if (entries.length > 0) await assertTrusted([...(await withParentFolders(file)), home]);
  const found: FoundPlugin[] = [];
  for (const entry of entries) found.push(await loadEntry(entry, found, options));
  const plugins = found.flatMap(({ plugin }) => plugin ?? []);
  // What a plugin that is missing would have read is no slip of the keyboard.
  const stray = plugins.length < found.length ? "warn" : "refuse";
  return { ...(await load([...builtIn, ...plugins], { ...options, stray })), found };
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

/** Only its own keys: what another plugin of the section reads is that one's to check. */
async function checkSettings(
  plugin: AnyPlugin,
  others: readonly AnyPlugin[],
  places: Places,
): Promise<void> {
  const { config } = await load([...others, plugin], { ...places, stray: "warn" });
  const [{ section, properties }] = sectionsOf([plugin]) as [SectionInfo];
  const own = Object.entries(config[section] ?? {}).filter(([key]) =>
    Object.hasOwn(properties, key),
  );
  checkPlugins([plugin], { [section]: Object.fromEntries(own) });
}
