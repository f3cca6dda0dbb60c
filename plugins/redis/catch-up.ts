// Reads the entries of a session that this node has missed.
import type { Reply } from "./driver.ts";
import type { LiveSession } from "./live-session.ts";
import type { RedisLogContext } from "./log-context.ts";
import { toHeard } from "./replies.ts";

interface CatchUpOptions {
  /** @returns A fresh epoch, and the highest number of the session that this node knows. */
  readonly seen: (sk: string) => readonly [fresh: string, epoch: string, seq: number];
  /** The session has another epoch than its subscribers know. */
  readonly renewed: (live: LiveSession) => void;
}

/**
 * Passes the missed entries on. The caller has set `isFetching`.
 *
 * @returns The node that has the session; undefined if that is not known.
 */
export async function catchUp(
  { link, log, node }: RedisLogContext,
  live: LiveSession,
  { seen, renewed }: CatchUpOptions,
): Promise<string | undefined> {
  const { keys, sk } = live.place;
  // Two calls can overlap: the other one may pass entries on before this one has its reply.
  const from = live.seq;
  try {
    const call = { script: "catchUp", keys, values: [from], repeats: true } as const;
    const reply = (await link.run(call)) as readonly Reply[];
    if (live.isClosed) return undefined;
    const [epoch, top, , owner] = reply;
    const entries = toHeard(live.session, reply, node.me);
    const isSame = epoch !== null && epoch !== undefined && String(epoch) === live.epoch;
    const first = entries[0]?.cursor.seq ?? from + 1;
    if (!isSame || first !== from + 1) renewed(live);
    else if (Number(top) >= from) live.fetched(entries);
    else {
      // The store has lost entries that the subscribers here have received.
      await link.run({ script: "renew", keys, values: seen(sk), repeats: true });
      renewed(live);
    }
    return String(owner ?? "");
  } catch (error) {
    if (live.isClosed) return undefined;
    live.isFetching = false;
    // When the store is there again, all sessions are compared.
    if (link.isUp) log.error({ err: error, session: sk }, "A session could not be read");
    return undefined;
  }
}
