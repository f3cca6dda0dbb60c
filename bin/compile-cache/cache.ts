// Stores the compiled code of a start in `cache/program` of the home, for the next start.
import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { cachedDataVersionTag, deserialize, serialize } from "node:v8";
import { crc32 } from "node:zlib";
import {
  createPrivateFolder,
  assertTrusted,
  readRegularFile,
  withParentFolders,
  writeFileAtomic,
} from "../../lib/files/index.ts";
import type { Environment } from "../../config/load/index.ts";
import type { CompiledFiles } from "./loader.ts";

/* A user who can write this file decides which code runs. So it is read only if no other user can
 * write it, and never on Windows, whose access rights are not checked here. */

/** Many times the size of the whole program. */
const maxBytes = 64 * 1_024 * 1_024;
const cacheFile = (home: string): string => join(home, "cache", "program");

const isDisabled = (env: Environment): boolean =>
  process.getuid === undefined || Boolean(env["NODE_DISABLE_COMPILE_CACHE"]);

/** @returns The stored code; empty if it is missing, damaged, unsafe, or from another Node. */
export async function readCache(home: string, env: Environment): Promise<CompiledFiles> {
  const none: CompiledFiles = new Map();
  if (isDisabled(env)) return none;
  try {
    const path = cacheFile(home);
    await assertTrusted(await withParentFolders(path));
    const bytes = await readRegularFile(path, maxBytes);
    const body = bytes.subarray(4);
    if (bytes.readUInt32BE() !== crc32(body)) return none;
    const { maker, files } = deserialize(body) as StoredCache;
    return maker === (await nodeFingerprint()) ? files : none;
  } catch {
    return none;
  }
}

/** Rejects `store_unavailable` if it cannot write, `FILE_WRITABLE_BY_OTHERS` if the folder is
 *  unsafe. */
export async function writeCache(
  home: string,
  env: Environment,
  compiled: () => CompiledFiles | undefined,
): Promise<void> {
  if (isDisabled(env)) return;
  const path = cacheFile(home);
  await createPrivateFolder(dirname(path));
  await assertTrusted([dirname(path)]);
  const files = compiled();
  if (!files) return;
  const storedCache: StoredCache = { maker: await nodeFingerprint(), files };
  const body = serialize(storedCache);
  // V8 does not verify the data: a damaged file would crash the process.
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  await writeFileAtomic(path, Buffer.concat([sum, body]), { mode: 0o600 });
}

interface StoredCache {
  readonly maker: string;
  readonly files: CompiledFiles;
}

/** Identifies the build of Node. V8's tag covers its version, flags and the processor, but not the
 *  build: data of Node 20.19.0 has the tag of 20.20.2, which accepts it and then crashes. Size and
 *  time of the executable are included, since distributions patch Node without a new version. */
async function nodeFingerprint(): Promise<string> {
  const { size, mtimeMs } = await stat(process.execPath);
  return JSON.stringify([cachedDataVersionTag(), process.arch, process.versions, size, mtimeMs]);
}
