// Lists the files of a home for a backup, and takes the tokens out of its settings.
import { readdir } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";
import { editJson, parseJson } from "../../lib/files/index.ts";
import { isObject } from "../../lib/util.ts";
import { findingsFile } from "../service/findings.ts";
import { isEntryName } from "./content.ts";
import { realPath } from "./paths.ts";
import { isTransient, type BackupPlaces } from "./places.ts";

/** A file for the backup. */
interface HomeFile {
  /** Path in the home, with slashes. */
  readonly name: string;
  readonly path: string;
}

/** Files of the home that a backup contains only encrypted. */
export const secretFiles = [
  ".security.yml",
  "config.json",
  "launcher-config.json",
  "state/sign-ins.json",
] as const;
/** Values of records may be secrets, such as the key of notifications. These have none. */
const plainRecords = /^(?:(?:acp|decisions)\.[^/]+|dashboard\.flags)\.jsonl$/;
const recordsOfPlugins = "state/records";
const recordName = /^state\/records\/[^/.][^/]*\.jsonl$/;
/** The file in which Doorward notes its backups. */
const statusFile = "state/backups.json";

/** @returns The path in the home, or undefined for a path outside of it. */
export function nameIn(home: string, path: string): string | undefined {
  const name = relative(home, path).split(sep).join("/");
  return name !== "" && isEntryName(name) ? name : undefined;
}

/** True for a file that a backup contains only encrypted. */
export const isSecretFile = (name: string): boolean =>
  (secretFiles as readonly string[]).includes(name) ||
  (recordName.test(name) && isEntryName(name) && !plainRecords.test(basename(name)));

/** @returns Records of plugins that a backup contains only encrypted. */
export async function secretRecords(home: string): Promise<readonly HomeFile[]> {
  const folder = await realPath(join(home, recordsOfPlugins));
  const found: HomeFile[] = [];
  for await (const file of walk(folder, recordsOfPlugins, { without: new Set(), skipped() {} }))
    if (isSecretFile(file.name)) found.push(file);
  return found;
}

interface WalkOptions {
  /** Paths that are left out, with everything in them. */
  readonly without: ReadonlySet<string>;
  /** Receives the names of what is neither a file nor a folder. */
  readonly skipped: (name: string) => void;
}

/** Lists the files in a folder, in the order of their names. Links are not followed. */
async function* walk(folder: string, name: string, options: WalkOptions): AsyncIterable<HomeFile> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    // A deletion may be faster.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const path = join(folder, entry.name);
    const own = { name: `${name}/${entry.name}`, path };
    if (options.without.has(path) || isTransient(entry.name)) continue;
    if (!isEntryName(own.name)) options.skipped(own.name);
    else if (entry.isDirectory()) yield* walk(path, own.name, options);
    else if (entry.isFile()) yield own;
    else options.skipped(own.name);
  }
}

/** The names of files that messages contain: `folder-store.ts` of the plugin `media`. */
const recordsFolder = "sessions";

/**
 * Lists the files of a home, without conversations and settings. The descriptions of files come
 * before the files: the content of each description exists then.
 */
export async function* collect(
  home: string,
  places: BackupPlaces,
  skipped: (name: string) => void,
): AsyncIterable<HomeFile> {
  const media = await realPath(places.media);
  const mediaName = nameIn(home, places.media) ?? "state/media";
  const options = { without: new Set([join(media, "parts")]), skipped };
  yield* walk(join(media, recordsFolder), `${mediaName}/${recordsFolder}`, options);
  options.without.add(join(media, recordsFolder));
  for await (const file of walk(media, mediaName, options))
    if (!/\.leaving-[0-9a-f]{32}$/.test(file.name)) yield file;

  const state = await realPath(join(home, "state"));
  const store = await realPath(places.store.path);
  const inState = (name: string): string => join(state, basename(name));
  const left = [
    inState("records"),
    media,
    join(home, "state", "media"),
    inState("media"),
    await realPath(places.folder),
  ];
  const databases = [store, `${store}-wal`, `${store}-shm`, `${store}-journal`];
  const own = [statusFile, findingsFile, "state/sign-ins.json"].map(inState);
  yield* walk(state, "state", { without: new Set([...left, ...databases, ...own]), skipped });
  const records = { without: new Set<string>(), skipped };
  for await (const file of walk(inState("records"), recordsOfPlugins, records))
    if (!isSecretFile(file.name)) yield file;
}

/** Sections whose secrets are known: see `docs/configuration.md`. */
const knownSections = new Set(["gateway", "store", "media", "backup", "launcher"]);
const knownChannels = new Set(["pico", "pico_client", "openai", "ai_sdk", "ag_ui"]);
const looksSecret = /token|passw|secret|key|credential|auth/i;

type Path = readonly string[];

/** Finds texts with the name of a secret. A list with one is removed as a whole. */
function secretsIn(value: unknown, path: Path): Path[] {
  if (Array.isArray(value))
    return value.some((item) => secretsIn(item, []).length > 0) ? [path] : [];
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    typeof inner === "string" && looksSecret.test(key)
      ? [[...path, key]]
      : secretsIn(inner, [...path, key]),
  );
}

function secretsOfConfig(value: Readonly<Record<string, unknown>>): Path[] {
  return Object.entries(value).flatMap(([section, inner]) => {
    if (knownSections.has(section)) return [];
    if (section !== "channels" || !isObject(inner)) return secretsIn(inner, [section]);
    return Object.entries(inner).flatMap(([name, channel]) => {
      const path = ["channels", name];
      if (!knownChannels.has(name)) return secretsIn(channel, path);
      return isObject(channel) && "token" in channel ? [[...path, "token"]] : [];
    });
  });
}

/** `tls` has paths. */
const secretsOfLauncher = ({ tls: _, ...others }: Readonly<Record<string, unknown>>): Path[] =>
  secretsIn(others, []).concat("setup_pending" in others ? [["setup_pending"]] : []);

/**
 * Removes all tokens from the text of `config.json` or `launcher-config.json`, and paths of the
 * former machine.
 *
 * @param outside - Settings whose files the backup moves into the home.
 * @throws FILE_CORRUPT if the text is not a JSON object.
 */
export function withoutSecrets(
  text: string,
  { file, isLauncher, outside }: { file: string; isLauncher: boolean; outside: readonly Path[] },
): string {
  const value = parseJson(text, file);
  const found = isLauncher ? secretsOfLauncher(value) : secretsOfConfig(value);
  return remove(text, [...found, ...outside], file);
}

/** Removes settings from a text. */
export function remove(text: string, paths: readonly Path[], file: string): string {
  const value = parseJson(text, file);
  const isThere = (path: Path): boolean => {
    let node: unknown = value;
    for (const key of path) {
      if (!isObject(node) || !Object.hasOwn(node, key)) return false;
      node = node[key];
    }
    return true;
  };
  const edits = paths.filter(isThere).map((path) => ({ path, remove: true as const }));
  return edits.length === 0 ? text : editJson(text, edits, file);
}
