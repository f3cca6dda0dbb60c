import { createHash } from "node:crypto";
import { editJson, parseJson, readJson, cachedByStamp, updateFile } from "../../lib/files/index.ts";
import { codeOf, didYouMean, type Configuration } from "../../kernel/index.ts";
import { settingsErrors } from "./errors.ts";
import type { Settings, SettingsSources } from "./service.ts";
import { isObject } from "../../lib/util.ts";

type RawSettings = Record<string, unknown>;
type ApplyResult = Awaited<ReturnType<Configuration["apply"]>>;
interface EditableProperty {
  readonly editable?: boolean;
}

function sectionOf(content: RawSettings | undefined, keys: readonly string[]): RawSettings {
  let node: unknown = content ?? {};
  for (const key of keys) node = isObject(node) && Object.hasOwn(node, key) ? node[key] : undefined;
  return isObject(node) ? node : {};
}

/** A section that is something else than an object is a slip of the hand, not a wish for the defaults. */
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

/** Changes only when the section's own settings do: two people can edit two sections. Tokens leave no trace. */
function etagOf(raw: Readonly<RawSettings>): string {
  const own = Object.keys(raw)
    .filter((key) => !key.endsWith("token") && key !== "setup_pending")
    .sort();
  return createHash("sha256")
    .update(JSON.stringify(own.map((key) => [key, raw[key]])))
    .digest("hex")
    .slice(0, 16);
}

export interface SectionReloader {
  /** The section as its file holds it now; `undefined`: there is no file. Rejects what reading it rejects. */
  read(section: string): Promise<RawSettings | undefined>;
  /** Takes over what `read` finds. Rejects also what a plugin or the schema has against it: then everything stays. */
  adopt(section: string): Promise<ApplyResult | undefined>;
}

export function createSettings(
  sources: SettingsSources,
  configuration: Configuration,
  changed: (section: string, keys: readonly string[]) => void,
  rejected: (section: string) => string | undefined,
): Omit<Settings, "instance"> & SectionReloader {
  const readShown = cachedByStamp(readJson);

  async function shown(section: string): Promise<RawSettings> {
    const { path, keys } = sources.file(section);
    return sectionOf((await readShown(path))?.value, keys);
  }

  const stored = (section: string): Promise<{ etag: string; problem?: string }> =>
    shown(section).then(
      (raw) => ({ etag: etagOf(raw) }),
      (error: unknown) => {
        if (codeOf(error) === "internal") throw error;
        return { etag: "", problem: (error as Error).message };
      },
    );

  function checkPatch(section: string, patch: Readonly<RawSettings>): void {
    const schema = configuration.describe().find((found) => found.section === section)?.schema;
    const properties =
      (schema as { properties?: Record<string, EditableProperty> } | undefined)?.properties ?? {};
    const editable = Object.keys(properties).filter((key) => properties[key]?.editable === true);
    for (const key of Object.keys(patch)) {
      const variable = sources.managed(section).get(key);
      if (!editable.includes(key)) {
        const meant = Object.hasOwn(properties, key) ? "" : didYouMean(key, editable);
        const details = { field: key };
        if (meant)
          throw settingsErrors.invalid_setting(`"${section}.${key}" is not a setting.${meant}`, {
            details,
          });
        throw settingsErrors.field_not_editable(`${section}.${key}`, { details });
      }
      if (variable !== undefined) {
        throw settingsErrors.invalid_setting(
          `"${section}.${key}" is held by the environment variable ${variable}; change it there and restart.`,
          { details: { field: key } },
        );
      }
    }
  }

  async function update(
    section: string,
    given: object,
    etag: string,
  ): ReturnType<Settings["update"]> {
    const patch = given as RawSettings;
    checkPatch(section, patch);
    const { path, keys } = sources.file(section);
    let before: RawSettings | undefined;
    let outcome = { now: [] as string[], afterRestart: [] as string[] };
    let next: RawSettings = {};
    try {
      await updateFile(path, async (text) => {
        const old = sectionOf(text === undefined ? undefined : parseJson(text, path), keys);
        if (etagOf(old) !== etag) throw settingsErrors.etag_mismatch(section);
        next = { ...old, ...patch };
        outcome = await configuration.apply(section, sources.overlay(section, next));
        before = old;
        return editJson(
          text,
          Object.entries(patch).map(([key, value]) => ({ path: [...keys, key], value })),
          path,
        );
      });
    } catch (error) {
      // Applied, then not written: what runs and what is stored must not differ.
      if (before) await configuration.apply(section, sources.overlay(section, before));
      if (!codeOf(error).startsWith("KERNEL_")) throw error;
      throw settingsErrors.invalid_setting((error as Error).message, {
        details: (error as { details?: Record<string, unknown> }).details ?? {},
        cause: error,
      });
    }
    changed(section, Object.keys(patch));
    return { ...outcome, etag: etagOf(next) };
  }

  async function read(section: string): Promise<RawSettings | undefined> {
    const { path, keys } = sources.file(section);
    const parsed = await readJson(path);
    if (parsed) assertObjects(parsed.value, keys, path);
    return parsed && sources.overlay(section, sectionOf(parsed.value, keys));
  }
  async function adopt(section: string): Promise<ApplyResult | undefined> {
    const found = await read(section);
    return found && configuration.apply(section, found);
  }

  /** One at a time: the way back of a failed write must not cross the next change. */
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(run: () => Promise<T>): Promise<T> => {
    const mine = last.then(run);
    last = mine.catch(() => undefined);
    return mine;
  };

  return {
    update: (section, patch, etag) => inTurn(() => update(section, patch, etag)),
    read,
    adopt: (section) => inTurn(() => adopt(section)),
    async describe() {
      const sections = configuration.describe().map(({ section }) => section);
      const files = new Map(
        await Promise.all(sections.map(async (name) => [name, await stored(name)] as const)),
      );
      // Values after etags: who changes what was shown must not overwrite what was not.
      return configuration.describe().map(({ section, schema, value }) => {
        const { etag = "", problem = rejected(section) } = files.get(section) ?? {};
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
    },
  };
}
