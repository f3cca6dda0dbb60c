// Loads the settings of plugins from files, environment and command line.
import { join } from "node:path";
import { didYouMean, type AnyPlugin } from "../../kernel/index.ts";
import { assertExactKeys, jsonKeyError, readJson, type ParsedFile } from "../../lib/files/index.ts";
import { lookAlikeOf } from "../../lib/look-alikes.ts";
import type { SettingsSources } from "../../plugins/settings/index.ts";
import {
  foreignInConfig,
  foreignInLauncher,
  foreignVariables,
  isForeignKey,
  isForeignPath,
} from "../foreign/index.ts";
import { readEnvironment, variablesOf, type Environment } from "./environment.ts";
import { loadErrors } from "./errors.ts";
import { suggestOneOf, checkValues, sectionsOf, type SectionInfo } from "./sections.ts";
import { isObject } from "../../lib/util.ts";

export { loadErrors } from "./errors.ts";
export { suggestOneOf } from "./sections.ts";
export type { Environment } from "./environment.ts";

type RawSection = Readonly<Record<string, unknown>>;

export interface Places {
  readonly home: string;
  readonly env: Environment;
  /** Prefix of the environment variables, in lower case. @defaultValue `"service"` */
  readonly brand?: string;
  /** Path of `config.json`. @defaultValue in the home */
  readonly config?: string;
  /** Settings of the command line by section; they override the environment. */
  readonly flags?: Readonly<Record<string, RawSection>>;
  /** Plugins that are not loaded. An unknown section may belong to one of them, so it is only a
   *  warning. */
  readonly failed?: readonly string[];
  /** Checks the sections of the given plugins only. */
  readonly isPartial?: boolean;
}

/** The file of each section, and the variables and flags that override it. */
export type Sources = Required<SettingsSources>;

/** The settings of plugins, and where they came from. */
export interface Loaded {
  /** For `createKernel`: raw sections by path. */
  readonly config: Record<string, RawSection>;
  /** For `settings()`, so that the dashboard can change the files. */
  readonly sources: Sources;
  /** Unparsed `handler` of `config.json`, which names the application. */
  readonly handler: unknown;
  /** Sentences for the log: misspelt, unused and ignored settings and variables. */
  readonly warnings: readonly string[];
  /** The subset of `warnings` about settings of PicoClaw, which are ignored. */
  readonly foreign: readonly string[];
}

/** Keys that other code reads and that plugins do not receive. */
const reservedKeys: Readonly<Record<string, readonly string[]>> = {
  launcher: ["launcher_token", "metrics_token", "setup_pending", "instance", "$schema"],
};
const reservedKeysOf = (section: string): readonly string[] => reservedKeys[section] ?? ["token"];
/** Sections of this package. They cause no warning if their plugin is not loaded. */
const wellKnown = [
  "backup",
  "channels.ag_ui",
  "channels.ai_sdk",
  "channels.openai",
  "channels.pico",
  "channels.pico_client",
  "gateway",
  "handler",
  "plugins",
  "store",
];

function mergeSections(under: RawSection, over: RawSection): RawSection {
  const merged = Object.entries(over).map(([key, value]) => {
    const below = Object.hasOwn(under, key) ? under[key] : undefined;
    return [key, isObject(value) && isObject(below) ? mergeSections(below, value) : value] as const;
  });
  return { ...under, ...Object.fromEntries(merged) };
}

/** Reads the sections that `plugins` declare from files, environment and flags. */
export async function load(plugins: readonly AnyPlugin[], places: Places): Promise<Loaded> {
  const { home, env, brand = "service", config, flags, failed = [], isPartial } = places;
  const sections = sectionsOf(plugins);
  const fromEnv = readEnvironment(env, variablesOf(sections, brand), brand);
  const launcherFile = join(home, "launcher-config.json");
  const configFile = config ?? join(home, "config.json");
  const file = (section: string): { path: string; keys: readonly string[] } =>
    section === "launcher"
      ? { path: launcherFile, keys: [] }
      : { path: configFile, keys: section.split(".") };

  const declared = declaredBy(sections);
  const isOther = (section: string, key: string): boolean =>
    reservedKeysOf(section).includes(key) ||
    (isForeignKey(section, key) && !declared(section, key));
  const overlay = (section: string, raw: RawSection): RawSection =>
    mergeSections(
      Object.fromEntries(
        Object.entries(withoutComments(raw)).filter(([key]) => !isOther(section, key)),
      ),
      {
        ...fromEnv.values.get(section),
        ...flags?.[section],
      },
    );
  const contents = new Map<string, ParsedFile>();
  const missing: string[] = [];
  for (const path of new Set([configFile, ...sections.map(({ section }) => file(section).path)])) {
    const content = await readJson(path);
    if (!content && path === config) {
      missing.push(
        `${path} does not exist, so every setting has its default. Check the file name.`,
      );
    }
    const { text, value } = content ?? emptyFile;
    contents.set(path, { text, value: withoutComments(value) });
  }
  const loaded: Record<string, RawSection> = {};
  for (const info of sections) {
    const { path, keys } = file(info.section);
    const content = contents.get(path) ?? emptyFile;
    assertExactKeys(content, keys, path);
    const raw = sectionAt(content.value, keys, path);
    checkKeys(info, raw, { path, keys, text: content.text });
    loaded[info.section] = overlay(info.section, raw);
  }
  const main = contents.get(configFile) ?? emptyFile;
  const foreign = [
    ...foreignVariables(env, brand),
    ...foreignInConfig(configFile, main.value, declared),
    ...foreignInLauncher(launcherFile, contents.get(launcherFile)?.value ?? {}, declared),
  ];
  const stray = isPartial ? [] : checkUnknownKeys(main, sections, configFile, failed);
  const managed: Sources["managed"] = (section) => fromEnv.managed.get(section) ?? new Map();
  const given: Sources["flags"] = (section) =>
    new Map(Object.keys(flags?.[section] ?? {}).map((field) => [field, `-${field}`]));
  checkValues(
    plugins,
    loaded,
    (section, field) =>
      given(section).get(field) ?? managed(section).get(field) ?? file(section).path,
  );
  return {
    config: loaded,
    sources: { home, file, overlay, managed, flags: given, loaded: (section) => loaded[section] },
    handler: main.value["handler"],
    warnings: [...missing, ...fromEnv.warnings, ...stray, ...foreign],
    foreign,
  };
}

/** @returns The object at a path of a file; an empty object if it is missing. */
function sectionAt(content: RawSection, keys: readonly string[], path: string): RawSection {
  let node: RawSection = content;
  for (const [depth, key] of keys.entries()) {
    const inner: unknown = Object.hasOwn(node, key) ? node[key] : undefined;
    if (inner === undefined || inner === null) return {};
    if (!isObject(inner))
      throw loadErrors.CONFIG_NOT_AN_OBJECT(path, keys.slice(0, depth + 1).join("."));
    node = inner;
  }
  return node;
}

/** @returns A function that tells whether a plugin declares a section, or one key of it. */
function declaredBy(sections: readonly SectionInfo[]) {
  return (section: string, key?: string): boolean =>
    sections.some(({ section: name, properties }) =>
      key === undefined
        ? name === section || name.startsWith(`${section}.`)
        : name === section && Object.hasOwn(properties, key),
    );
}

const emptyFile: ParsedFile = { text: "", value: {} };

function checkKeys(
  { section, properties }: SectionInfo,
  raw: RawSection,
  place: { readonly path: string; readonly text: string; readonly keys: readonly string[] },
): void {
  const { path } = place;
  const known = [...Object.keys(properties), ...reservedKeysOf(section)];
  for (const key of Object.keys(raw)) {
    if (known.includes(key)) continue;
    const meant = lookAlikeOf(key, known);
    if (meant !== undefined) throw jsonKeyError(place, [...place.keys, key], meant);
    if (isForeignKey(section, key)) continue;
    if (section === "launcher" && key === "workers")
      throw loadErrors.WORKERS_REMOVED(`"workers" in ${path}`);
    const full = section === "launcher" ? key : `${section}.${key}`;
    throw loadErrors.CONFIG_UNKNOWN_KEY(path, full, suggestOneOf(key, Object.keys(properties)));
  }
}

/** Reports sections that no plugin declares: an error if misspelt, otherwise a warning. */
function checkUnknownKeys(
  { text, value: content }: ParsedFile,
  sections: readonly SectionInfo[],
  path: string,
  failed: readonly string[],
): string[] {
  const owners = failed.length > 0 && `; it may belong to ${failed.join(" or ")}, which failed`;
  const launcher = sections.find(({ section }) => section === "launcher")?.properties ?? {};
  const declared = sections.map(({ section }) => section).filter((name) => name !== "launcher");
  const known = new Set([...wellKnown, ...declared]);
  const groups = new Set(
    [...known].filter((name) => name.includes(".")).map((name) => name.split(".")[0]!),
  );
  const judge = (keys: readonly string[], alternatives: readonly string[]): string[] => {
    const name = keys.join(".");
    const last = keys.at(-1)!;
    if (known.has(name) || name === "$schema" || isForeignPath(name)) return [];
    const exact = lookAlikeOf(last, alternatives);
    if (exact !== undefined) throw jsonKeyError({ text, path }, keys, exact);
    const meant = didYouMean(last, alternatives);
    if (meant && failed.length === 0) throw loadErrors.CONFIG_UNKNOWN_KEY(path, name, meant);
    const where = Object.hasOwn(launcher, name)
      ? "; it is a setting of launcher-config.json"
      : owners || (meant && `.${meant}`);
    return [`${path}: no plugin reads "${name}"${where}`];
  };
  const inGroup = (group: string): string[] =>
    [...known]
      .filter((name) => name.startsWith(`${group}.`))
      .map((name) => name.slice(group.length + 1));
  return Object.entries(content).flatMap(([key, value]) =>
    groups.has(key)
      ? Object.keys(isObject(value) ? value : {}).flatMap((inner) =>
          judge([key, inner], inGroup(key)),
        )
      : judge([key], [...known, ...groups]),
  );
}

/** JSON has no comments, so files of other products keep them in a key. */
const commentKey = "_comment";

/** Copies the value without keys named `_comment`, at any depth. */
export function withoutComments<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutComments) as T;
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([key]) => key !== commentKey);
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutComments(inner)])) as T;
}
