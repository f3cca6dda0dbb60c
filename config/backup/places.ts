// Finds the files that make up a home, from its settings.
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { readJson } from "../../lib/files/index.ts";
import { isObject } from "../../lib/util.ts";
import { withoutComments, type Environment } from "../load/index.ts";

/** Where the parts of a home are. The process of its launcher may have other variables. */
export interface BackupPlaces {
  /** Path of `config.json`. */
  readonly config: string;
  readonly store: {
    readonly kind: string;
    /** The file of conversations. */
    readonly path: string;
    /** Address of Redis. */
    readonly url: string;
  };
  /** Folder of files. */
  readonly media: string;
  /** Folder of backups. */
  readonly folder: string;
}

interface HomeOptions {
  readonly home: string;
  readonly env: Environment;
  /** Path of `config.json`. @defaultValue in the home */
  readonly config?: string | undefined;
}

/** Reads the places from `config.json` and the environment. @throws FILE_CORRUPT */
export async function readPlaces({ home, env, config }: HomeOptions): Promise<BackupPlaces> {
  const file = config ?? join(home, "config.json");
  const settings = withoutComments((await readJson(file))?.value ?? {});
  const field = (section: string, name: string): string => {
    const given = env[`SERVICE_${section}_${name}`.toUpperCase()]?.trim();
    const values = settings[section];
    const value = isObject(values) ? values[name] : undefined;
    return given || (typeof value === "string" ? value : "");
  };
  const place = (path: string, ...otherwise: string[]): string =>
    path === "" ? join(home, ...otherwise) : resolve(home, path);
  return {
    config: file,
    store: {
      kind: field("store", "kind") || "sqlite",
      path: place(field("store", "path"), "state", "conversations.db"),
      url: field("store", "url"),
    },
    media: place(field("media", "path"), "state", "media"),
    folder: place(field("backup", "path"), "backups"),
  };
}

/** Names in a home that hold nothing of the owner, or that a backup takes as a whole. */
const knownNames = new Set([
  ".gitignore",
  ".security.yml",
  "backups",
  "cache",
  "config.json",
  "launcher-config.json",
  "logs",
  "run",
  "state",
]);

/** Locks and unfinished files of a process. */
export const isTransient = (name: string): boolean => /^\..*\.(?:lock|tmp-|part)/.test(name);

/** @returns Names in the home that no backup contains, such as programs of the owner. */
export async function otherNames(home: string): Promise<string[]> {
  const names = await readdir(home).catch(() => []);
  return names.filter((name) => !knownNames.has(name) && !isTransient(name)).sort();
}
