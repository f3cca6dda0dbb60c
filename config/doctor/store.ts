// Doctor checks for the store of conversations.
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { CheckView } from "../../plugins/dashboard/index.ts";
import { findSqliteDriver } from "../../plugins/conversations/index.ts";
import { createCheck, type Survey } from "./survey.ts";

const MiB = 1024 * 1024;

/** Checks that conversations can be kept on disk, and that only the owner can read them. */
export async function storeChecks({ home, store }: Survey): Promise<CheckView[]> {
  const own = createCheck("conversation-store", "Conversations are kept on disk");
  const { kind = "sqlite", path = "" } = store;
  if (kind === "memory") return [own.ok('"store.kind" is memory: nothing is kept after a stop.')];
  if (findSqliteDriver() === undefined)
    return [
      own.warning(
        `Node ${process.versions.node} has no SQLite, so conversations are in memory only.`,
        "use Node 22.13 or newer, or: npm install @photostructure/sqlite@1",
      ),
    ];
  const file = path === "" ? join(home, "state", "conversations.db") : resolve(home, String(path));
  const status = await stat(file).catch(() => undefined);
  if (!status) return [own.ok(`The first start creates ${file}.`)];
  const isWritable = await access(file, constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  );
  if (!isWritable)
    return [
      own.failed(
        `This user cannot read and write ${file}.`,
        `chown $(id -un) ${file} ${dirname(file)}`,
      ),
    ];
  if (process.platform !== "win32" && (status.mode & 0o077) !== 0)
    return [own.warning(`Other users of this machine can read ${file}.`, `chmod 600 ${file}`)];
  return [own.ok(`${file} has ${Math.max(1, Math.round(status.size / MiB))} MiB.`)];
}
