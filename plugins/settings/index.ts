/** The settings plugin: shows, changes and watches the settings in the files of the home. */
import { ensureHome, editJson, readJson, updateFile } from "../../lib/files/index.ts";
import { codeOf, type Log, type Plugin } from "../../kernel/index.ts";
import type { SettingsEvents, Settings, SettingsSources } from "./service.ts";
import { SettingsEditor } from "./editor.ts";
import { watchSettingsFiles } from "./watch.ts";

export type { SettingsEvents, Settings, SettingsSection, SettingsSources } from "./service.ts";
export { settingsErrors } from "./errors.ts";

/** Reads the six hex digits that name the cookies, or creates them on the first start. */
async function ensureInstance(
  sources: SettingsSources,
  { log, random }: { log: Log; random: (bytes: number) => Uint8Array },
): Promise<string | undefined> {
  const { path } = sources.file("launcher");
  const stored = (await readJson(path))?.value["instance"];
  if (typeof stored === "string" && /^[0-9a-f]{6}$/.test(stored)) return stored;
  const created = Buffer.from(random(3)).toString("hex");
  try {
    // The token store warns about a home that other users can read.
    await ensureHome(sources.home);
    const edits = [{ path: ["instance"], value: created }];
    await updateFile(path, (before) => editJson(before, edits, path), { mode: 0o600 });
    return created;
  } catch (error) {
    if (codeOf(error) !== "store_unavailable") throw error;
    const { message: reason } = error as Error;
    log.warn({ reason }, "the home cannot be written: settings cannot be changed until restart");
    return undefined;
  }
}

/**
 * Creates the settings plugin. Only this plugin writes `config.json` and the settings in
 * `launcher-config.json`.
 *
 * @param sources - Locations of the sections, and the values that override the files.
 * @example
 * import { createKernel } from "doorward";
 * import { fromFiles } from "doorward/config";
 * import { dashboard } from "doorward/plugins/dashboard";
 * import { http } from "doorward/plugins/http";
 * import { settings } from "doorward/plugins/settings";
 * import { tokenStore } from "doorward/plugins/token-store";
 * const { tokens, load } = fromFiles(home);
 * const plugins = [tokenStore(tokens), http(), dashboard()] as const;
 * const { config, sources } = await load(plugins);
 * const kernel = createKernel([settings(sources), ...plugins], { config });
 */
export function settings(sources: SettingsSources): Plugin<{
  emits: SettingsEvents;
  configures: true;
  offers: { settings: Settings };
}> {
  return {
    name: "settings",
    api: 1,
    configures: true,
    async start(scope) {
      const { configuration, emit } = scope;
      const instance = await ensureInstance(sources, scope);
      const rejected = new Map<string, string>();
      const editor = new SettingsEditor({
        sources,
        configuration,
        changed: (section, keys) => emit("settings:changed", { section, keys: keys.join(",") }),
        rejectionOf: (section) => rejected.get(section),
      });
      const sections = (): string[] => configuration.describe().map(({ section }) => section);
      await watchSettingsFiles({
        sources,
        sections,
        rejected,
        read: (section) => editor.read(section),
        apply: (section) => editor.apply(section),
        scope,
      });
      return {
        settings: {
          describe: () => editor.describe(),
          update: (section, patch, etag) => editor.update(section, patch, etag),
          instance: () => instance,
        },
      };
    },
  };
}
