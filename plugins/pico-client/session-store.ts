// Stores the session for each server address across restarts. A lock ensures that one process
// uses it at a time: two processes would replace each other's connection indefinitely.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { codeOf, type Log } from "../../kernel/index.ts";
import { lockFile, createPrivateFolder, updateFile, type FileLock } from "../../lib/files/index.ts";

export interface StoredSession {
  readonly id: string;
  /** Releases the lock, so that another process can use the session. */
  release(): Promise<void>;
}

interface SessionStoreOptions {
  readonly home: string | undefined;
  readonly profile: string;
  readonly url: string;
  readonly newId: () => string;
  readonly log: Log;
}

type SessionsByKey = Record<string, string>;

/** Leaves out the query, because it may hold a token. */
function sessionKey(address: string, profile: string): string {
  const { protocol, host, pathname } = new URL(address);
  return `${protocol}//${host}${pathname}${profile && ` ${profile}`}`;
}

function parseSessions(text: string | undefined): SessionsByKey {
  try {
    const { sessions } = JSON.parse(text ?? "{}") as { sessions?: SessionsByKey };
    return Object.fromEntries(
      Object.entries(sessions ?? {}).filter(([, id]) => typeof id === "string" && id !== ""),
    );
  } catch {
    return {}; // a damaged file costs only the session identifiers
  }
}

async function storeSession(file: string, key: string, newSession: string): Promise<string> {
  let id = newSession;
  await updateFile(
    file,
    (text) => {
      const sessions = parseSessions(text);
      id = sessions[key] ?? newSession;
      if (sessions[key] === id) return undefined;
      return `${JSON.stringify({ sessions: { ...sessions, [key]: id } }, null, 2)}\n`;
    },
    { mode: 0o600 },
  );
  return id;
}

/**
 * Opens the session stored for this address. If none can be stored, or another process uses it,
 * returns a new one and logs a warning.
 */
export async function openSession({
  home,
  profile,
  url,
  newId,
  log,
}: SessionStoreOptions): Promise<StoredSession> {
  const newSession: StoredSession = { id: newId(), release: async () => {} };
  if (home === undefined) return newSession;
  const folder = join(home, "state");
  const key = sessionKey(url, profile);
  const name = createHash("sha256").update(key).digest("hex").slice(0, 16);
  let lock: FileLock | undefined;
  try {
    await createPrivateFolder(folder);
    lock = await lockFile(join(folder, `pico-client-${name}`), { waitMs: 0 });
    const { release } = lock;
    const id = await storeSession(join(folder, "pico-client.json"), key, newSession.id);
    return { id, release };
  } catch (error) {
    await lock?.release();
    if (codeOf(error) === "FILE_LOCKED")
      log.warn(
        { url: key },
        "another process has the conversation with this address; starting a new one",
      );
    else log.warn({ url: key, err: error }, "conversations cannot be stored; starting a new one");
    return newSession;
  }
}
