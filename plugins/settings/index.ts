/** The settings plugin: shows, changes and watches the settings in the files of the home. */
import { createHash } from "node:crypto";
import {
  codeOf,
  didYouMean,
  type Configuration,
  type Plugin,
  type Release,
  type Scope,
} from "../../kernel/index.ts";
import {
  assertExactKeys,
  cachedByStamp,
  editJson,
  ensureHome,
  parseJson,
  readJson,
  updateFile,
  watchFiles,
} from "../../lib/files/index.ts";
import { isObject, objectAt } from "../../lib/util.ts";
import { settingsErrors } from "./errors.ts";
import type { Settings, SettingsEvents, SettingsSection, SettingsSources } from "./service.ts";

export type { SettingsEvents, Settings, SettingsSection, SettingsSources } from "./service.ts";
export { settingsErrors } from "./errors.ts";

type SettingsShape = {
  emits: SettingsEvents;
  configures: true;
  offers: { settings: Settings };
};
type SettingsScope = Scope<SettingsShape>;

/** Reads the six hex digits that name the cookies, or creates them on the first start. */
async function ensureInstance(
  sources: SettingsSources,
  { log, random }: SettingsScope,
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
export function settings(sources: SettingsSources): Plugin<SettingsShape> {
  return {
    name: "settings",
    api: 1,
    configures: true,
    async start(scope) {
      const instance = await ensureInstance(sources, scope);
      const editor = new SettingsEditor(sources, scope);
      await watchSettingsFiles(editor, sources, scope);
      return {
        settings: {
          describe: () => editor.describe(),
          update: (section, patch, etag, options) => editor.update(section, patch, etag, options),
          instance: () => instance,
        },
      };
    },
  };
}

type RawSettings = Record<string, unknown>;
type ApplyResult = Awaited<ReturnType<Configuration["apply"]>>;
interface EditableProperty {
  readonly editable?: boolean;
}

/** Rejects a section that is not an object: that is a mistake, not a request for the defaults. */
function assertObjects(content: RawSettings, keys: readonly string[], path: string): void {
  let node: unknown = content;
  for (const [depth, key] of keys.entries()) {
    node = (node as RawSettings)[key];
    if (node === undefined || node === null) return;
    if (isObject(node)) continue;
    const name = keys.slice(0, depth + 1).join(".");
    const problem = `${path}: "${name}" must be an object with settings.`;
    throw settingsErrors.invalid_setting(problem, { details: { field: name } });
  }
}

/** Covers only the settings of this section, so that two people can edit two sections. Tokens are
 *  left out. */
function etagOf(raw: Readonly<RawSettings>): string {
  const keys = Object.keys(raw)
    .filter((key) => !key.endsWith("token") && key !== "setup_pending")
    .sort();
  return createHash("sha256")
    .update(JSON.stringify(keys.map((key) => [key, raw[key]])))
    .digest("hex")
    .slice(0, 16);
}

class SettingsEditor {
  /** Section -> reason, while the content of its file is rejected. */
  readonly rejected = new Map<string, string>();
  private readonly sources: SettingsSources;
  private readonly configuration: Configuration;
  private readonly emit: SettingsScope["emit"];
  private readonly readCached = cachedByStamp(readJson);
  private last: Promise<unknown> = Promise.resolve();

  constructor(sources: SettingsSources, { configuration, emit }: SettingsScope) {
    this.sources = sources;
    this.configuration = configuration;
    this.emit = emit;
  }

  update(...[section, patch, etag, { fields = [] } = {}]: Parameters<Settings["update"]>) {
    return this.enqueue(() => {
      this.assertEditable(section, patch as RawSettings, fields);
      return this.writeAndApply(section, patch as RawSettings, etag);
    });
  }

  /**
   * Applies a section from its file. If reading fails, or the schema or a plugin rejects it, this
   * rejects and the previous values stay.
   */
  apply(section: string): Promise<ApplyResult | undefined> {
    return this.enqueue(async () => {
      const found = await this.read(section);
      return found && this.configuration.apply(section, found);
    });
  }

  /**
   * Reads a section from its file, or undefined if there is no file. Rejects with the error of
   * reading it.
   */
  async read(section: string): Promise<RawSettings | undefined> {
    const { sources } = this;
    const { path, keys } = sources.file(section);
    const parsed = await readJson(path);
    if (parsed) assertExactKeys(parsed, keys, path);
    if (parsed) assertObjects(parsed.value, keys, path);
    return parsed && sources.overlay(section, objectAt(parsed.value, ...keys));
  }

  async describe(): Promise<SettingsSection[]> {
    const { sources, configuration, rejected } = this;
    const sections = configuration.describe().map(({ section }) => section);
    const files = new Map(
      await Promise.all(sections.map(async (name) => [name, await this.stored(name)] as const)),
    );
    // Values are read after the etags. Otherwise an update with a new etag could overwrite a value
    // that its author has never seen.
    return configuration.describe().map(({ section, schema, value }) => {
      const { etag = "", problem = rejected.get(section) } = files.get(section) ?? {};
      return {
        section,
        schema,
        value,
        etag,
        managedByEnv: [...sources.managed(section).keys()],
        managedByFlag: Object.fromEntries(sources.flags?.(section) ?? []),
        ...(problem === undefined ? {} : { problem }),
      };
    });
  }

  /** Runs one change at a time: undoing a failed write must not interleave with the next change. */
  private enqueue<T>(run: () => Promise<T>): Promise<T> {
    const result = this.last.then(run);
    this.last = result.catch(() => undefined);
    return result;
  }

  private async stored(section: string): Promise<{ etag: string; problem?: string }> {
    const { path, keys } = this.sources.file(section);
    try {
      return { etag: etagOf(objectAt((await this.readCached(path))?.value, ...keys)) };
    } catch (error) {
      if (codeOf(error) === "internal") throw error;
      return { etag: "", problem: (error as Error).message };
    }
  }

  private assertEditable(
    section: string,
    patch: Readonly<RawSettings>,
    others: readonly string[],
  ): void {
    const { sources, configuration } = this;
    const schema = configuration.describe().find((found) => found.section === section)?.schema;
    const properties =
      (schema as { properties?: Record<string, EditableProperty> } | undefined)?.properties ?? {};
    const editable = Object.keys(properties).filter((key) => properties[key]?.editable === true);
    for (const key of Object.keys(patch)) {
      const name = `${section}.${key}`;
      const details = { field: key };
      if (!editable.includes(key) && !(others.includes(key) && Object.hasOwn(properties, key))) {
        const suggestion = Object.hasOwn(properties, key) ? "" : didYouMean(key, editable);
        if (suggestion)
          throw settingsErrors.invalid_setting(`"${name}" is not a setting.${suggestion}`, {
            details,
          });
        throw settingsErrors.field_not_editable(name, { details });
      }
      const variable = sources.managed(section).get(key);
      if (variable !== undefined) {
        const problem =
          `"${name}" is set by the environment variable ${variable}; ` +
          "change it there and restart.";
        throw settingsErrors.invalid_setting(problem, { details });
      }
    }
  }

  private async writeAndApply(
    section: string,
    patch: RawSettings,
    etag: string,
  ): ReturnType<Settings["update"]> {
    const { sources, configuration } = this;
    const { path, keys } = sources.file(section);
    let before: RawSettings | undefined;
    let result = { now: [] as string[], afterRestart: [] as string[] };
    let next: RawSettings = {};
    try {
      await updateFile(path, async (text) => {
        const old = objectAt(text === undefined ? {} : parseJson(text, path), ...keys);
        if (etagOf(old) !== etag) throw settingsErrors.etag_mismatch(section);
        next = { ...old, ...patch };
        result = await configuration.apply(section, sources.overlay(section, next));
        before = old;
        return editJson(
          text,
          Object.entries(patch).map(([key, value]) => ({ path: [...keys, key], value })),
          path,
        );
      });
    } catch (error) {
      // The change was applied but not written: applied and stored settings must not differ.
      if (before) await configuration.apply(section, sources.overlay(section, before));
      if (!codeOf(error).startsWith("KERNEL_")) throw error;
      throw settingsErrors.invalid_setting((error as Error).message, {
        details: (error as { details?: Record<string, unknown> }).details ?? {},
        cause: error,
      });
    }
    this.emit("settings:changed", { section, keys: Object.keys(patch).join(",") });
    return { ...result, etag: etagOf(next) };
  }
}

/** A rejection may depend on another file, such as one with a token, so it is tried again. */
const retryMs = 2_000;

/** Follows the file of each section. */
class SectionWatcher {
  private readonly editor: SettingsEditor;
  private readonly sources: SettingsSources;
  private readonly scope: SettingsScope;
  /** Sections whose file has existed. */
  private readonly known = new Set<string>();
  private readonly retries = new Map<string, Release>();
  private closed = false;

  constructor(editor: SettingsEditor, sources: SettingsSources, scope: SettingsScope) {
    this.editor = editor;
    this.sources = sources;
    this.scope = scope;
  }

  close(): void {
    this.closed = true;
  }

  /** Applies the file of a section and reports the result. */
  async follow(section: string): Promise<void> {
    if (this.closed) return;
    const { editor, scope } = this;
    let applied: ApplyResult | undefined;
    try {
      applied = await editor.apply(section);
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
    const wasRejected = editor.rejected.delete(section);
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
    const { editor, sources } = this;
    const loaded = sources.loaded?.(section);
    const found = await editor.read(section).catch(() => null); // `follow` reports the error
    const current = found === undefined ? sources.overlay(section, {}) : found;
    const differs = loaded !== undefined && JSON.stringify(current) !== JSON.stringify(loaded);
    if (found !== undefined || differs) this.known.add(section);
    return differs;
  }

  pathOf(section: string): string {
    return this.sources.file(section).path;
  }

  private reject(section: string, message: string): void {
    const { scope } = this;
    const { rejected } = this.editor;
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
async function watchSettingsFiles(
  editor: SettingsEditor,
  sources: SettingsSources,
  scope: SettingsScope,
): Promise<void> {
  const sections = (): string[] => scope.configuration.describe().map(({ section }) => section);
  const watcher = new SectionWatcher(editor, sources, scope);
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
