// Remembers which version of Doorward uses a home, in `state/version.json`.
import { join } from "node:path";
import { createPrivateFolder, readJson, writeFileAtomic } from "../lib/files/index.ts";

/** Which version uses a home. */
export interface HomeVersion {
  readonly version: string;
  /** When this version was started for the first time, in Unix milliseconds. */
  readonly since: number;
  /** The version before it. */
  readonly previous?: string;
}

/** The only release that did not write the file. */
const unrecorded = "0.1.0";
const pattern = /^\d{1,9}\.\d{1,9}\.\d{1,9}(?:[-+][\w.+-]{1,64})?$/;

const isVersion = (value: unknown): value is string =>
  typeof value === "string" && pattern.test(value);
const fileOf = (home: string): string => join(home, "state", "version.json");

/** @returns Which version uses the home; undefined before the first start. */
export async function readHomeVersion(home: string): Promise<HomeVersion | undefined> {
  const stored = (await readJson(fileOf(home)))?.value;
  if (stored) {
    const { version, since, previous } = stored;
    if (!isVersion(version) || typeof since !== "number") return undefined;
    return { version, since, ...(isVersion(previous) && { previous }) };
  }
  // The first start writes the instance.
  const launcher = (await readJson(join(home, "launcher-config.json")))?.value;
  return launcher?.["instance"] === undefined ? undefined : { version: unrecorded, since: 0 };
}

/**
 * Stores that `version` uses the home from now on.
 *
 * @param now - Unix milliseconds.
 * @returns The version before it; undefined for a new home, and if it is the same.
 */
export async function recordHomeVersion(
  home: string,
  version: string,
  now: number,
): Promise<string | undefined> {
  const stored = await readHomeVersion(home);
  if (stored?.version === version && stored.since > 0) return undefined;
  const previous = stored?.version;
  const next: HomeVersion = { version, since: now, ...(previous !== undefined && { previous }) };
  const path = fileOf(home);
  await createPrivateFolder(join(home, "state"));
  await writeFileAtomic(path, `${JSON.stringify(next)}\n`, { mode: 0o600 });
  return previous;
}

/** @returns A negative number if `left` is the earlier version, 0 for the same release. */
export function compareVersions(left: string, right: string): number {
  const [a, b] = [left, right].map((text) => text.split(/[.+-]/).slice(0, 3).map(Number));
  for (const at of [0, 1, 2]) {
    const difference = (a?.[at] ?? 0) - (b?.[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
