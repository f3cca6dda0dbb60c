import { stat } from "node:fs/promises";

type FileReader<T> = (path: string) => Promise<T>;

/** File systems tell time in ticks of milliseconds up to two seconds: within one a file may change again unseen. */
const timestampGranularityMs = 2_000;

/** Another text whenever the file is another one; undefined while it is too young to tell, and when there is none. */
export async function fileStamp(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (!found || Date.now() - Number(found.ctimeMs) <= timestampGranularityMs) return undefined;
  return `${found.ino} ${found.ctimeNs} ${found.mtimeNs} ${found.size}`;
}

/** `read`, but a file that is the same as before is not read again: pages ask every second. Failures are not kept. */
export function cachedByStamp<T>(read: FileReader<T>): FileReader<T> {
  const known = new Map<string, { readonly stamp: string; readonly content: T }>();
  return async (path) => {
    const stamp = await fileStamp(path);
    const before = known.get(path);
    if (stamp !== undefined && before?.stamp === stamp) return before.content;
    const content = await read(path);
    if (stamp !== undefined) known.set(path, { stamp, content });
    else known.delete(path);
    return content;
  };
}
