// Doctor checks for the store of conversations.
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { CheckView } from "../../plugins/dashboard/index.ts";
import { assertStoreFile, findSqliteDriver } from "../../plugins/conversations/index.ts";
import { readBackups } from "../../plugins/backup/index.ts";
import { formatUtc } from "../../lib/util.ts";
import { inspectStoreServer } from "../../plugins/redis/index.ts";
import { readStoreSecrets } from "../presets/store-secrets.ts";
import { createCheck, listOf, type Survey } from "./survey.ts";

const MiB = 1024 * 1024;

const textOf = (value: unknown, otherwise = ""): string =>
  typeof value === "string" ? value : otherwise;

/** Checks the Redis server, its settings and the secret. */
async function redisCheck({ home, env, store, media, running }: Survey): Promise<CheckView> {
  const own = createCheck("conversation-store", "Nodes share their conversations");
  const config = {
    url: textOf(store.url),
    sentinels: [...listOf(store.sentinels)],
    name: textOf(store.name),
    prefix: textOf(store.prefix, "doorward"),
    replicas: Number(store.replicas ?? 0),
  };
  try {
    const secrets = await readStoreSecrets({ home, env });
    const { server, replicas, warning } = await inspectStoreServer(config, secrets);
    if (warning !== undefined)
      return own.warning(`${warning}.`, "set appendonly yes in redis.conf, or store.replicas");
    if (config.replicas > 0 && replicas !== config.replicas)
      return own.warning(
        replicas > config.replicas
          ? `A message needs ${config.replicas} of ${replicas} replicas: a failover may lose some.`
          : `A message needs ${config.replicas} replicas, and Redis has ${replicas}: clients wait.`,
        replicas > config.replicas
          ? `"store.replicas": ${replicas}`
          : "start the missing replicas, or lower store.replicas",
      );
    const different = running?.store?.nodes?.filter(({ differs }) => differs) ?? [];
    if (different.length > 0)
      return own.warning(
        `The settings of the channel differ on ${different.map(({ name }) => name).join(", ")}.`,
        'set "channels.pico" to the same values on all nodes',
      );
    const nodes = running?.store?.nodes?.length ?? 0;
    if (nodes > 1 && textOf(media.path) === "")
      return own.warning(
        "Each node keeps the files of its own clients: the other nodes cannot read them.",
        'set "media.path" to a folder that all nodes share',
      );
    return own.ok(`${server} answers and has ${replicas} replicas.`);
  } catch (error) {
    return own.failed((error as Error).message, "see docs/scaling.md");
  }
}

/** Says which channels of other authors are kept; nothing without one. */
export function otherChannelsCheck({ running }: Survey): CheckView | undefined {
  const channels = running?.channels ?? [];
  if (channels.length === 0) return undefined;
  const own = createCheck("other-channels", "Channels of other authors");
  const list = channels.map(({ name, isKept }) => `${name}: ${isKept ? "kept" : "not kept"}`);
  return own.ok(`Conversations of ${list.join(", ")}.`);
}

/** Checks that conversations can be kept on disk, and that only the owner can read them. */
export async function storeCheck(survey: Survey): Promise<CheckView> {
  const { home, store } = survey;
  if (store.kind === "redis") return redisCheck(survey);
  const own = createCheck("conversation-store", "Conversations are kept on disk");
  const { kind = "sqlite", path = "" } = store;
  const { problem, notice, fix = "read the log" } = survey.running?.store ?? {};
  if (problem !== undefined) return own.failed(problem, fix);
  if (notice !== undefined) return own.warning(notice, fix);
  if (kind === "memory") return own.ok('"store.kind" is memory: nothing is kept after a stop.');
  if (findSqliteDriver() === undefined)
    return own.warning(
      `Node ${process.versions.node} has no SQLite, so conversations are in memory only.`,
      "use Node 22.13 or newer, or: npm install @photostructure/sqlite@1",
    );
  const file = path === "" ? join(home, "state", "conversations.db") : resolve(home, String(path));
  const status = await stat(file).catch(() => undefined);
  const isUsable =
    status === undefined ||
    (await access(file, constants.R_OK | constants.W_OK).then(
      () => true,
      () => false,
    ));
  if (!isUsable)
    return own.failed(
      `This user cannot read and write ${file}.`,
      `chown $(id -un) ${file} ${dirname(file)}`,
    );
  try {
    assertStoreFile(file);
  } catch (error) {
    return own.failed((error as Error).message, "run that command, or: doorward restore FILE");
  }
  if (!status) return own.ok(`The first start creates ${file}.`);
  if (process.platform !== "win32" && (status.mode & 0o077) !== 0)
    return own.warning(`Other users of this machine can read ${file}.`, `chmod 600 ${file}`);
  return own.ok(`${file} has ${Math.max(1, Math.round(status.size / MiB))} MiB.`);
}

const hourMs = 3_600_000;

/** Says when the last good backup was made, and why a later one failed. */
export async function backupCheck({ home, backup, now }: Survey): Promise<CheckView> {
  const own = createCheck("backup", "Backups");
  const { last, failed } = await readBackups(home);
  const every = Number(backup["every"] ?? 0);
  const good = last
    ? `The last good backup is of ${formatUtc(last.at)}: ${last.file}.`
    : "There is no backup yet.";
  if (failed)
    return own.warning(`${failed.reason} ${good}`, "fix the cause, then: doorward backup FILE");
  if (every > 0 && last !== undefined && now - last.at > 2 * every * hourMs)
    return own.warning(
      good,
      `run the launcher, which makes one after ${every} hours of running: its log says why not`,
    );
  const how = 'To make one: doorward backup FILE, or set "backup.every" to 24.';
  return own.ok(last ? good : every > 0 ? `${good} The launcher makes one.` : `${good} ${how}`);
}
