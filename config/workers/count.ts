// Reads the number of workers from the settings of a home.
import { join } from "node:path";
import { readRegularFile } from "../../lib/files/index.ts";
import { workersErrors } from "./errors.ts";

/** More would need more connections to Redis than they are worth. */
export const maxWorkers = 64;

/** The launcher rejects a larger file. */
const maxBytes = 1024 * 1024;

/** @throws WORKERS_COUNT unless the value is a whole number from 1 to 64. */
export function toWorkerCount(value: unknown): number {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= maxWorkers)
    return value as number;
  throw workersErrors.WORKERS_COUNT(maxWorkers);
}

/**
 * Reads `workers` of `launcher-config.json` without the libraries that explain errors in the file:
 * the launcher reports a file that is unreadable or not JSON.
 *
 * @returns 1 if the file does not set it.
 * @throws WORKERS_COUNT if the value is not a number of workers.
 */
export async function workersInFile(home: string): Promise<number> {
  const path = join(home, "launcher-config.json");
  const text = await readRegularFile(path, maxBytes).then(String, () => "");
  if (!text.includes('"workers"')) return 1;
  const { workers = 1 } = parse(text.replace(/^\uFEFF/, ""));
  return toWorkerCount(workers);
}

function parse(text: string): { readonly workers?: unknown } {
  try {
    return (JSON.parse(text) ?? {}) as { readonly workers?: unknown };
  } catch {
    return {};
  }
}
