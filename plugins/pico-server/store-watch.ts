// Rejects and closes clients while the store that several nodes share is away.
import type { Clock, Release } from "../../kernel/index.ts";
import type { Conversations } from "../conversations/index.ts";
import type { ConnectionRegistry } from "./connection/registry.ts";

interface StoreWatchScope {
  readonly uses: { readonly conversations?: Conversations };
  readonly clock: Clock;
  readonly after: (ms: number, run: () => void) => Release;
}

const checkEveryMs = 1_000;
/** Milliseconds after which clients are closed: their token may have been revoked elsewhere. */
const maxAwayMs = 60_000;

/**
 * Watches a shared store; any other needs no watch.
 *
 * @returns A function that returns true while the shared store is away.
 */
export function watchStore(
  { uses: { conversations }, clock, after }: StoreWatchScope,
  connections: Pick<ConnectionRegistry, "close">,
): () => boolean {
  if (!conversations?.ownership) return () => false;
  const isAway = (): boolean => conversations.health().state === "away";
  let awaySince: number | undefined;
  const check = (): void => {
    const now = clock.monotonic();
    if (!isAway()) awaySince = undefined;
    else if (now - (awaySince ??= now) >= maxAwayMs) connections.close("try_later");
    after(checkEveryMs, check);
  };
  after(checkEveryMs, check);
  return isAway;
}
