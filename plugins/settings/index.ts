/** The settings plugin: shows, changes and watches the settings in the files of the home. */
import { ensureHome, editJson, readJson, updateFile, watchFiles } from "../../lib/files/index.ts";
import { codeOf, type Log, type Plugin, type Release, type Scope } from "../../kernel/index.ts";
import type { SettingsEvents, Settings, SettingsSources } from "./service.ts";
import { SettingsEditor, type SectionReloader } from "./editor.ts";

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

/** A rejection may depend on another file, such as one with a token, so it is tried again. */
const retryMs = 2_000;

interface WatchOptions extends SectionReloader {
  readonly sources: SettingsSources;
  readonly sections: () => readonly string[];
  /** Section -> reason, while the content of its file is rejected. */
  readonly rejected: Map<string, string>;
  readonly scope: Pick<
    Scope<{ emits: SettingsEvents }>,
    "log" | "emit" | "after" | "on" | "onStop"
  >;
}

/** Follows the file of each section. */
class SectionWatcher {
  private readonly options: WatchOptions;
  /** Sections whose file has existed. */
  private readonly known = new Set<string>();
  private readonly retries = new Map<string, Release>();
  private closed = false;

  constructor(options: WatchOptions) {
    this.options = options;
  }

  close(): void {
    this.closed = true;
  }

  /** Applies the file of a section and reports the result. */
  async follow(section: string): Promise<void> {
    if (this.closed) return;
    const { rejected, scope } = this.options;
    let applied: Awaited<ReturnType<SectionReloader["apply"]>>;
    try {
      applied = await this.options.apply(section);
    } catch (error) {
      const { message } = error as Error;
      const path = this.pathOf(section);
      return this.reject(section, message.includes(path) ? message : `${path}: ${message}`);
    }
    if (!applied)
      return this.known.has(section)
        ? this.reject(section, `${this.pathOf(section)} is missing.`)
        : undefined;
    this.known.add(section);
    this.retries.get(section)?.();
    const wasRejected = rejected.delete(section);
    const { now, afterRestart } = applied;
    const keys = [...now, ...afterRestart];
    if (keys.length > 0)
      scope.log.info({ section, now, afterRestart }, "an edit of the settings took effect");
    else if (wasRejected) scope.log.info({ section }, "the rejected edit was undone");
    else return;
    scope.emit("settings:changed", { section, keys: keys.join(",") });
  }

  /** @returns Whether the file differs from the loaded configuration on the first read. */
  async wasEdited(section: string): Promise<boolean> {
    const { sources, read } = this.options;
    const loaded = sources.loaded?.(section);
    const found = await read(section).catch(() => null); // `follow` reports the error
    const current = found === undefined ? sources.overlay(section, {}) : found;
    const differs = loaded !== undefined && JSON.stringify(current) !== JSON.stringify(loaded);
    if (found !== undefined || differs) this.known.add(section);
    return differs;
  }

  pathOf(section: string): string {
    return this.options.sources.file(section).path;
  }

  private reject(section: string, message: string): void {
    const { rejected, scope } = this.options;
    if (rejected.get(section) !== message) {
      rejected.set(section, message);
      scope.log.warn({ section }, `rejected an edit, the previous settings stay: ${message}`);
      scope.emit("settings:rejected", { section, message });
    }
    this.retries.get(section)?.();
    this.retries.set(
      section,
      scope.after(retryMs, () => void this.follow(section)),
    );
  }
}

/**
 * Applies edits of the files like changes on the dashboard, from the time the configuration was
 * loaded. An invalid edit changes nothing. A host may start the kernel with other values than the
 * files contain: those stay until the first edit.
 *
 * @returns A promise that resolves when each file was read once.
 */
async function watchSettingsFiles(options: WatchOptions): Promise<void> {
  const { sections, scope } = options;
  const watcher = new SectionWatcher(options);
  const seen = new Set<string>();
  /** Plugins accept changes only after they have started. */
  const ready = new Promise<void>((resolve) => scope.on("kernel:state-changed", () => resolve()));
  let finishFirstRead = (): void => undefined;
  const firstRead = new Promise<void>((resolve) => {
    finishFirstRead = resolve;
  });
  const paths = new Set(sections().map((section) => watcher.pathOf(section)));
  const watch = watchFiles([...paths], async (path) => {
    const inFile = sections().filter((section) => watcher.pathOf(section) === path);
    if (!seen.has(path)) {
      seen.add(path);
      for (const section of inFile)
        if (await watcher.wasEdited(section)) void ready.then(() => watcher.follow(section));
      return seen.size === paths.size ? finishFirstRead() : undefined;
    }
    await ready;
    for (const section of inFile) await watcher.follow(section);
  });
  scope.onStop(() => {
    watcher.close();
    watch.stop();
  });
  if (paths.size > 0) await firstRead;
}
