import { createHash } from "node:crypto";
import { join } from "node:path";
import { codeOf, type Log } from "../../kernel/index.ts";
import { lockFile, createPrivateFolder, updateFile, type FileLock } from "../../lib/files/index.ts";

/* The conversation with an address is kept across restarts, by one process at a time: two that shared it would take
 * each other's place at the server for ever. */

export interface StoredSession {
  readonly id: string;
  /** Another process may have it then. */
  release(): Promise<void>;
}

export interface SessionStoreOptions {
  readonly home: string | undefined;
  readonly profile: string;
  readonly url: string;
  readonly newId: () => string;
  readonly log: Log;
}

type SessionsByKey = Record<string, string>;

/** Never a token: what stands in the query is left out. */
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
    return {}; // nothing but names is lost
  }
}

async function storeSession(file: string, place: string, fresh: string): Promise<string> {
  let id = fresh;
  await updateFile(
    file,
    (text) => {
      const sessions = parseSessions(text);
      id = sessions[place] ?? fresh;
      if (sessions[place] === id) return undefined;
      return `${JSON.stringify({ sessions: { ...sessions, [place]: id } }, null, 2)}\n`;
    },
    { mode: 0o600 },
  );
  return id;
}

/** The conversation kept for this address. Where none can be kept, or another process has it: a new one, and a line in
 *  the log. */
export async function openSession({
  home,
  profile,
  url,
  newId,
  log,
}: SessionStoreOptions): Promise<StoredSession> {
  const fresh: StoredSession = { id: newId(), release: async () => {} };
  if (home === undefined) return fresh;
  const folder = join(home, "state");
  const place = sessionKey(url, profile);
  const name = createHash("sha256").update(place).digest("hex").slice(0, 16);
  let lock: FileLock | undefined;
  try {
    await createPrivateFolder(folder);
    lock = await lockFile(join(folder, `pico-client-${name}`), { waitMs: 0 });
    const { release } = lock;
    return { id: await storeSession(join(folder, "pico-client.json"), place, fresh.id), release };
  } catch (error) {
    await lock?.release();
    const isTaken = codeOf(error) === "FILE_LOCKED";
    const taken = "another process has the conversation with this address";
    const why = isTaken ? taken : "no conversation can be kept in the home";
    log.warn({ url: place, ...(isTaken ? {} : { err: error }) }, `${why}: this is a new one`);
    return fresh;
  }
}
