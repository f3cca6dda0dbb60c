// Remembers which session of the agent each conversation has.
import { createHash } from "node:crypto";
import { BoundedMap, keyOf } from "../../lib/util.ts";
import type { Address } from "../channels/index.ts";
import type { OpenRecords } from "../records/index.ts";

const maxRemembered = 4_096;

/** Keeps the session of the agent for each conversation. */
export interface SessionIds {
  get(address: Address): Promise<string | undefined>;
  set(address: Address, id: string): Promise<void>;
  remove(address: Address): Promise<void>;
}

/** A session as it is stored: another agent, or another folder, does not know it. */
interface KnownSession {
  readonly id: string;
  readonly command: string;
  readonly cwd: string;
}

/** Remembers the sessions for as long as this process runs. */
function inMemory(): SessionIds {
  const known = new BoundedMap<string, string>(maxRemembered);
  const key = ({ channel, session }: Address): string => keyOf(channel, session);
  return {
    get: async (address) => known.get(key(address)),
    set: async (address, id) => void known.renew(key(address), id),
    remove: async (address) => void known.delete(key(address)),
  };
}

/**
 * Remembers the sessions in records, which outlive this process and go with their conversations.
 *
 * @param records - Undefined without the plugin `records`: they then end with this process.
 */
export function createSessionIds(
  records: OpenRecords | undefined,
  { command, cwd }: Omit<KnownSession, "id">,
): SessionIds {
  if (!records) return inMemory();
  const known = records<KnownSession>("sessions");
  // A key is readable and short; the name of a session may be neither.
  const key = ({ channel, session }: Address): string =>
    createHash("sha256").update(keyOf(channel, session)).digest("hex");
  return {
    async get(address) {
      const { value } = (await known.get(key(address))) ?? {};
      return value?.command === command && value.cwd === cwd ? value.id : undefined;
    },
    async set({ channel, session }, id) {
      const value = { id, command, cwd };
      await known.put(key({ channel, session }), value, { session: { channel, session } });
    },
    remove: (address) => known.remove(key(address)),
  };
}
