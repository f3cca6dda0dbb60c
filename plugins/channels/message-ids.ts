/** Maps the message ids of Doorward to those that a network chose, and back. */
import { keyOf } from "../../lib/util.ts";

/** Options of `createMessageIds`. */
export interface MessageIdsOptions {
  /**
   * Network ids to keep at least; at most twice as many are in memory. The ones that were not used
   * for the longest time are dropped first.
   * @defaultValue 10,000
   */
  readonly keep?: number;
}

/** The ids of messages on a network that chooses them. One message may have several network ids. */
export interface MessageIds {
  /** Sets the network ids of a message, in the order of its parts. */
  set(session: string, id: string, networkIds: readonly string[]): void;
  /** @returns The network ids of the message, or undefined if they are unknown or were dropped. */
  networkIds(session: string, id: string): readonly string[] | undefined;
  /** @returns The id of the message that this network id is a part of, or undefined. */
  id(session: string, networkId: string): string | undefined;
  /** Forgets a message. */
  delete(session: string, id: string): void;
  /** Number of network ids in memory. */
  readonly size: number;
}

interface Generation {
  readonly byId: Map<string, readonly string[]>;
  readonly byNetworkId: Map<string, string>;
}

const createGeneration = (): Generation => ({ byId: new Map(), byNetworkId: new Map() });

/**
 * Creates a bounded map between message ids.
 *
 * @example
 * import { createMessageIds } from "doorward/plugins/channels";
 * const ids = createMessageIds();
 * ids.set("session", "a1b2", ["4711"]);
 * ids.networkIds("session", "a1b2"); // ["4711"]
 * ids.id("session", "4711"); // "a1b2"
 */
export function createMessageIds({ keep = 10_000 }: MessageIdsOptions = {}): MessageIds {
  /** A full map replaces the older one: deleting single first keys makes a map slow. */
  let newer = createGeneration();
  let older = createGeneration();

  function remove(key: string, session: string): void {
    for (const { byId, byNetworkId } of [newer, older]) {
      for (const networkId of byId.get(key) ?? []) byNetworkId.delete(keyOf(session, networkId));
      byId.delete(key);
    }
  }

  function set(session: string, id: string, networkIds: readonly string[]): void {
    const key = keyOf(session, id);
    remove(key, session);
    const isFull = newer.byNetworkId.size + networkIds.length > keep || newer.byId.size >= keep;
    if (isFull && newer.byId.size > 0) [older, newer] = [newer, createGeneration()];
    newer.byId.set(key, networkIds);
    for (const networkId of networkIds) newer.byNetworkId.set(keyOf(session, networkId), id);
  }

  return {
    set,
    networkIds(session, id) {
      const key = keyOf(session, id);
      const recent = newer.byId.get(key);
      if (recent) return recent;
      const found = older.byId.get(key);
      if (found) set(session, id, found);
      return found;
    },
    id(session, networkId) {
      const key = keyOf(session, networkId);
      return newer.byNetworkId.get(key) ?? older.byNetworkId.get(key);
    },
    delete: (session, id) => remove(keyOf(session, id), session),
    get size() {
      return newer.byNetworkId.size + older.byNetworkId.size;
    },
  };
}
