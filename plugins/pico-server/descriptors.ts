import { readFile } from "node:fs/promises";

/** Files, listeners and requests of the process beside the connections. */
export const spare = 64;

/** File descriptors this process may open, as `/proc/self/limits` has it; undefined where that cannot be known. */
export function readLimit(limits: string): number | undefined {
  const [, soft] = /^Max open files +(\d+|unlimited)/m.exec(limits) ?? [];
  return soft === undefined || soft === "unlimited" ? undefined : Number(soft);
}

/** What the limit would have to be for so many connections; undefined: it is enough, or nobody knows. */
export async function descriptorsMissing(connections: number): Promise<{ has: number; needs: number } | undefined> {
  const has = readLimit(await readFile("/proc/self/limits", "utf8").catch(() => ""));
  const needs = connections + spare;
  return has === undefined || has >= needs ? undefined : { has, needs };
}
