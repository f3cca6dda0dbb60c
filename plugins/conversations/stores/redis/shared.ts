// The interface of a store that several nodes share.
import type { Clock, Log, Release } from "../../../../kernel/index.ts";
import type { Address } from "../../../channels/index.ts";
import type { TokenSync } from "../../../token-store/index.ts";
import type { Conversations } from "../../service.ts";

/** The parts of the plugin scope that a shared store uses. */
export interface SharedStoreScope {
  /** The clock of the kernel. */
  readonly clock: Clock;
  /** Receives problems of the store, never the content of messages. */
  readonly log: Log;
  /** Returns this many cryptographically random bytes. */
  readonly random: (bytes: number) => Uint8Array;
  /** Runs a function later, unless the plugin has stopped. */
  readonly after: (ms: number, run: () => void) => Release;
  /** Keeps the tokens of channels equal on all nodes; absent without a token store. */
  readonly tokens?: TokenSync | undefined;
  /** Runs for each session of which an entry was stored by this node. */
  readonly changed: (address: Address) => void;
  /** Runs when this node has deleted conversations. */
  readonly forgotten: (count: number) => void;
}

/** Conversations that other nodes use too. */
export interface SharedConversations extends Conversations {
  /** Gives the sessions of this node to the others, and disconnects. */
  close(): Promise<void>;
}

/** Opens a shared store when the plugin starts; see `redis()`. */
export interface SharedConversationStore {
  /** Connects. If it rejects, the start fails with its error. */
  open(scope: SharedStoreScope): Promise<SharedConversations>;
}
