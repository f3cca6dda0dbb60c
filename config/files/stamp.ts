import { stat } from "node:fs/promises";

/** File systems tell time in ticks of milliseconds up to two seconds: within one a file may change again unseen. */
const tickMs = 2_000;

/** Another text whenever the file is another one; undefined while it is too young to tell, and when there is none. */
export async function stampOf(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (!found || Date.now() - Number(found.ctimeMs) <= tickMs) return undefined;
  return `${found.ino} ${found.ctimeNs} ${found.mtimeNs} ${found.size}`;
}
