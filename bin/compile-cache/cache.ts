import { readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { cachedDataVersionTag, deserialize, serialize } from "node:v8";
import { crc32 } from "node:zlib";
import {
  createPrivateFolder,
  assertTrusted,
  withParentFolders,
  writeFileAtomic,
} from "../../lib/files/index.ts";
import type { Environment } from "../../config/load/index.ts";
import type { CompiledFiles } from "./loader.ts";

/* What a start compiled, for the next one: `cache/program` in the home. Who could write it would decide which code
 * runs, so it is read only where nobody else can, and never on Windows, whose access rights nobody looks at here. */

/** Many times what the whole program makes. */
const maxBytes = 64 * 1_024 * 1_024;
const cacheFile = (home: string): string => join(home, "cache", "program");

const isDisabled = (env: Environment): boolean =>
  process.getuid === undefined || Boolean(env["NODE_DISABLE_COMPILE_CACHE"]);

/** Nothing when it is not there, not this Node's, not whole, or not safe to use: then everything is compiled anew. */
export async function readCache(home: string, env: Environment): Promise<CompiledFiles> {
  const none: CompiledFiles = new Map();
  if (isDisabled(env)) return none;
  try {
    const path = cacheFile(home);
    await assertTrusted(await withParentFolders(path));
    const found = await stat(path);
    if (!found.isFile() || found.size > maxBytes) return none;
    const bytes = await readFile(path);
    const body = bytes.subarray(4);
    if (bytes.readUInt32BE() !== crc32(body)) return none;
    const { maker, files } = deserialize(body) as StoredCache;
    return maker === (await nodeFingerprint()) ? files : none;
  } catch {
    return none;
  }
}

/** Rejects `store_unavailable` where nothing can be written, `FILE_WRITABLE_BY_OTHERS` where it would not be read. */
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
  // V8 believes what it is given: a file that a disk has spoiled would end the process.
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  await writeFileAtomic(path, Buffer.concat([sum, body]), { mode: 0o600 });
}

interface StoredCache {
  readonly maker: string;
  readonly files: CompiledFiles;
}

/** V8's tag stands for its version, its flags and the processor. Builds of one V8 are not alike: what Node 20.19.0 made
 *  has the tag of 20.20.2, which takes it and ends with a segmentation fault. A distribution mends its Node under one
 *  version, so the file counts, too. */
async function nodeFingerprint(): Promise<string> {
  const { size, mtimeMs } = await stat(process.execPath);
  return JSON.stringify([cachedDataVersionTag(), process.arch, process.versions, size, mtimeMs]);
}
