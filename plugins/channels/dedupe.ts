import { createHash } from "node:crypto";
import type { Clock } from "../../kernel/index.ts";
import type { Incoming } from "./service.ts";

const keptMs = 600_000;
const mostPerSession = 1_024;
const mostInAll = 65_536;

interface Taken {
  readonly digest: string;
  readonly at: number;
  /** Settles with the delivery. */
  readonly outcome: Promise<unknown>;
}

/** Remembers the ids a session has used: 1,024 of them, for ten minutes. */
export interface Dedupe {
  /** What was taken under this id: the same message, another one, or nothing. */
  find(lane: string, message: Incoming): { readonly same: boolean; readonly outcome: Promise<unknown> } | undefined;
  /** A delivery that rejects is forgotten, so that it can be tried again. */
  remember(lane: string, message: Incoming, outcome: Promise<unknown>): void;
}

/** Text as long as a digest stands for itself. */
const short = 43;

/** Of what makes two messages the same: content and media, each part with its length before it. */
function digestOf({ content, media }: Incoming): string {
  if (media.length === 0 && content.length <= short) return `text:${content}`;
  const hash = createHash("sha256");
  const part = (bytes: string | Uint8Array): void => {
    hash.update(`${typeof bytes === "string" ? Buffer.byteLength(bytes) : bytes.byteLength}:`).update(bytes);
  };
  part(content);
  for (const { type, url, bytes } of media) {
    part(type);
    part(url ?? "");
    part(bytes ?? "");
  }
  return hash.digest("base64url");
}

export function createDedupe(clock: Clock): Dedupe {
  /** The session used longest ago comes first. */
  const sessions = new Map<string, Map<string, Taken>>();
  let count = 0;

  function forget(lane: string, id: string): void {
    const taken = sessions.get(lane);
    if (taken?.delete(id)) count -= 1;
    if (taken?.size === 0) sessions.delete(lane);
  }

  function prune(lane: string): void {
    const taken = sessions.get(lane);
    for (const [id, { at }] of taken ?? []) {
      if (clock.now() - at < keptMs && taken!.size <= mostPerSession) break;
      forget(lane, id);
    }
  }

  function pruneOldest(): void {
    for (const lane of sessions.keys()) {
      prune(lane);
      if (count > mostInAll) for (const id of [...(sessions.get(lane)?.keys() ?? [])]) forget(lane, id);
      if (sessions.has(lane)) break;
    }
  }

  return {
    find(lane, message) {
      prune(lane);
      const taken = sessions.get(lane)?.get(message.id);
      return taken && { same: taken.digest === digestOf(message), outcome: taken.outcome };
    },

    remember(lane, message, outcome) {
      const taken = sessions.get(lane) ?? new Map<string, Taken>();
      sessions.delete(lane);
      sessions.set(lane, taken);
      const entry = { digest: digestOf(message), at: clock.now(), outcome };
      taken.set(message.id, entry);
      count += 1;
      prune(lane);
      pruneOldest();
      outcome.catch(() => {
        if (sessions.get(lane)?.get(message.id) === entry) forget(lane, message.id);
      });
    },
  };
}
