import { ensureHome, editJson, readJson, updateFile } from "../../lib/files/index.ts";
import { codeOf, type Plugin } from "../../kernel/index.ts";
import type { SettingsEvents, Settings, SettingsSources } from "./service.ts";
import { createSettings } from "./editor.ts";
import { watchSettingsFiles } from "./watch.ts";

export type { SettingsEvents, Settings, SettingsSection, SettingsSources } from "./service.ts";
export { settingsErrors } from "./errors.ts";

/** The one writer of `config.json` and of the settings in `launcher-config.json`. */
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
      const { configuration, emit, log, random } = scope;
      const instance = await ensureInstance();
      const rejected = new Map<string, string>();
      const changed = (section: string, keys: readonly string[]): void =>
        emit("settings:changed", { section, keys: keys.join(",") });
      const refusal = (section: string): string | undefined => rejected.get(section);
      const { read, adopt, ...edit } = createSettings(sources, configuration, changed, refusal);
      const sections = (): string[] => configuration.describe().map(({ section }) => section);
      await watchSettingsFiles({ sources, sections, rejected, read, adopt, scope });
      return { settings: { ...edit, instance: () => instance } };

      /** Reads the six hex digits that name the cookies, and makes them on the first start. */
      async function ensureInstance(): Promise<string | undefined> {
        const { path } = sources.file("launcher");
        const stored = (await readJson(path))?.value["instance"];
        if (typeof stored === "string" && /^[0-9a-f]{6}$/.test(stored)) return stored;
        const fresh = Buffer.from(random(3)).toString("hex");
        try {
          await ensureHome(sources.home); // the token store warns of a home that is open to others
          const edits = [{ path: ["instance"], value: fresh }];
          await updateFile(path, (before) => editJson(before, edits, path), { mode: 0o600 });
          return fresh;
        } catch (error) {
          if (codeOf(error) !== "store_unavailable") throw error;
          const { message: reason } = error as Error;
          log.warn(
            { reason },
            "the home cannot be written: settings cannot be changed while it runs",
          );
          return undefined;
        }
      }
    },
  };
}
