// Converts replies of the scripts to the types of the session log.
import { isObject } from "../../lib/util.ts";
import type { Cursor, Replay, SequencedEntry } from "../conversations/log/session-log.ts";
import type { Reply } from "./driver.ts";
import { toHeardEntry, type EntryHead } from "./live-session.ts";

/** An entry of the stream of a session: its id, and the fields `x` and `d`. */
export interface StreamEntry {
  readonly seq: number;
  readonly head: Omit<EntryHead, "e" | "s">;
  readonly frame: Buffer;
}

/** @param malformed - Called for each entry that another program has written. It is left out. */
export function toStreamEntries(
  reply: Reply | undefined,
  malformed: () => void = () => undefined,
): readonly StreamEntry[] {
  return ((reply ?? []) as readonly Reply[]).flatMap((entry): StreamEntry[] => {
    const found = toStreamEntry(entry);
    if (!found) malformed();
    return found ? [found] : [];
  });
}

function toStreamEntry(entry: Reply): StreamEntry | undefined {
  try {
    const [id, fields] = entry as readonly [Buffer, readonly Buffer[]];
    const [, head, , frame] = fields as readonly [Buffer, Buffer, Buffer, Buffer];
    const parsed: unknown = JSON.parse(`{${head.toString()}}`);
    return isObject(parsed) && Buffer.isBuffer(frame)
      ? { seq: Number.parseInt(id.toString(), 10), head: parsed as StreamEntry["head"], frame }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Converts a reply of `catchUp`. */
export const toHeard = (
  session: string,
  [epoch, , entries]: readonly Reply[],
  me: string,
): readonly SequencedEntry[] =>
  toStreamEntries(entries).map(({ seq, head, frame }) =>
    toHeardEntry(session, { ...head, e: String(epoch), s: seq }, frame, { me }),
  );

/** Converts a reply of `read`. */
export function toReplay(reply: Reply, cursor: Cursor | undefined): Replay {
  const [epochText, topText, gapText, startText, frames, partials, ends] =
    reply as readonly Reply[];
  const changed = { gap: { reason: "epoch_changed" } } as const;
  if (!epochText) return { top: undefined, ...(cursor && changed), frames: [], partials: [] };
  const seq = Number(topText);
  const kept = {
    top: { epoch: String(epochText), seq },
    frames: frames as readonly Buffer[],
    partials: partials as readonly Buffer[],
    ends: ends as readonly Buffer[],
  };
  const gap = String(gapText);
  if (gap === "") return kept;
  if (gap === "epoch") return { ...kept, ...changed };
  const to = seq - kept.frames.length;
  return { ...kept, gap: { reason: "overflow", from: Number(startText) + 1, to } };
}
