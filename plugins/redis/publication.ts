// Publishes an entry that replicas have confirmed.
import type { Cursor } from "../conversations/log/session-log.ts";
import type { AppendDraft } from "./append-drafts.ts";
import type { RedisLink } from "./link.ts";

interface Publication {
  readonly channel: string;
  readonly cursor: Cursor;
  readonly draft: AppendDraft;
}

/** @returns How many nodes have received it. */
export async function publish(
  link: RedisLink,
  { channel, cursor: { epoch, seq }, draft: { entry, head } }: Publication,
): Promise<number> {
  const text = `${JSON.stringify({ e: epoch, s: seq, ...head })}\n`;
  const call = {
    script: "publish",
    keys: [channel],
    values: [Buffer.concat([Buffer.from(text), entry.frame])],
    bytes: entry.frame.byteLength,
    repeats: entry.numbered,
  } as const;
  // The entry is stored: subscribers read it later if this is lost.
  return Number(await link.run(call).catch(() => 0));
}
