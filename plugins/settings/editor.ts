/** Reads sections from their files, and writes and applies changes of them. */
import { createHash } from "node:crypto";
import { editJson, parseJson, readJson, cachedByStamp, updateFile } from "../../lib/files/index.ts";
import { codeOf, didYouMean, type Configuration } from "../../kernel/index.ts";
import { settingsErrors } from "./errors.ts";
import type { Settings, SettingsSection, SettingsSources } from "./service.ts";

type RawSettings = Record<string, unknown>;
type ApplyResult = Awaited<ReturnType<Configuration["apply"]>>;
interface EditableProperty {
  readonly editable?: boolean;
}

const isObject = (value: unknown): value is RawSettings =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function sectionOf(content: RawSettings | undefined, keys: readonly string[]): RawSettings {
  let node: unknown = content ?? {};
  for (const key of keys) node = isObject(node) && Object.hasOwn(node, key) ? node[key] : undefined;
  return isObject(node) ? node : {};
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

export interface SectionReloader {
  /** Reads the section from its file, or undefined if there is no file. Rejects with the error of
   *  reading it. */
  read(section: string): Promise<RawSettings | undefined>;
  /** Applies the section from its file. If reading fails, or the schema or a plugin rejects it,
   *  this rejects and the previous values stay. */
  apply(section: string): Promise<ApplyResult | undefined>;
}

interface SettingsEditorOptions {
  readonly sources: SettingsSources;
  readonly configuration: Configuration;
  readonly changed: (section: string, keys: readonly string[]) => void;
  /** Why the last edit of the section's file was rejected, or undefined. */
  readonly rejectionOf: (section: string) => string | undefined;
}

export class SettingsEditor implements Omit<Settings, "instance">, SectionReloader {
  private readonly options: SettingsEditorOptions;
  private readonly readCached = cachedByStamp(readJson);
  private last: Promise<unknown> = Promise.resolve();

  constructor(options: SettingsEditorOptions) {
    this.options = options;
  }

  update(section: string, patch: object, etag: string): ReturnType<Settings["update"]> {
    return this.enqueue(() => this.writeAndApply(section, patch as RawSettings, etag));
  }

  apply(section: string): Promise<ApplyResult | undefined> {
    return this.enqueue(async () => {
      const found = await this.read(section);
      return found && this.options.configuration.apply(section, found);
    });
  }

  async read(section: string): Promise<RawSettings | undefined> {
    const { sources } = this.options;
    const { path, keys } = sources.file(section);
    const parsed = await readJson(path);
    if (parsed) assertObjects(parsed.value, keys, path);
    return parsed && sources.overlay(section, sectionOf(parsed.value, keys));
  }

  async describe(): Promise<SettingsSection[]> {
    const { sources, configuration, rejectionOf } = this.options;
    const sections = configuration.describe().map(({ section }) => section);
    const files = new Map(
      await Promise.all(sections.map(async (name) => [name, await this.stored(name)] as const)),
    );
    // Values are read after the etags. Otherwise an update with a new etag could overwrite a value
    // that its author has never seen.
    return configuration.describe().map(({ section, schema, value }) => {
      const { etag = "", problem = rejectionOf(section) } = files.get(section) ?? {};
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
    const { path, keys } = this.options.sources.file(section);
    try {
      return { etag: etagOf(sectionOf((await this.readCached(path))?.value, keys)) };
    } catch (error) {
      if (codeOf(error) === "internal") throw error;
      return { etag: "", problem: (error as Error).message };
    }
  }

  private assertEditable(section: string, patch: Readonly<RawSettings>): void {
    const { sources, configuration } = this.options;
    const schema = configuration.describe().find((found) => found.section === section)?.schema;
    const properties =
      (schema as { properties?: Record<string, EditableProperty> } | undefined)?.properties ?? {};
    const editable = Object.keys(properties).filter((key) => properties[key]?.editable === true);
    for (const key of Object.keys(patch)) {
      const name = `${section}.${key}`;
      const details = { field: key };
      if (!editable.includes(key)) {
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
    this.assertEditable(section, patch);
    const { sources, configuration, changed } = this.options;
    const { path, keys } = sources.file(section);
    let before: RawSettings | undefined;
    let result = { now: [] as string[], afterRestart: [] as string[] };
    let next: RawSettings = {};
    try {
      await updateFile(path, async (text) => {
        const old = sectionOf(text === undefined ? undefined : parseJson(text, path), keys);
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
    changed(section, Object.keys(patch));
    return { ...result, etag: etagOf(next) };
  }
}
