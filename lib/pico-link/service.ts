import type { Dial } from "./dial.ts";
import type {
  Clock,
  LinkData,
  Effect,
  LinkEvent,
  LinkNotifications,
  LinkReceipt,
  LinkState,
} from "./types.ts";

export type LinkHandlers = {
  readonly [K in keyof LinkNotifications]?: (news: LinkNotifications[K]) => void;
};

/** Runs the steps: one event after the other, none inside another. */
export type Driver = (run: {
  readonly initial: LinkData;
  readonly step: (core: LinkData, event: LinkEvent) => readonly [LinkData, readonly Effect[]];
  readonly perform: (effects: readonly Effect[], core: LinkData) => void;
}) => { send(event: LinkEvent): void; core(): LinkData };

export interface LinkOptions extends LinkHandlers {
  /** `ws:`, `wss:`, `http:` or `https:` address of the channel. */
  readonly url: string;
  /** A function is asked before each try. */
  readonly token: string | (() => string | Promise<string>);
  readonly sessionId: string;
  /** Loaded by the first try, when it is a promise. */
  readonly dial: Dial | Promise<Dial>;
  readonly clock: Clock;
  /** From 0 up to, but without, 1. */
  readonly random: () => number;
  /** A new name that nobody had before. */
  readonly newId: () => string;
  readonly drive?: Driver;
  /** Milliseconds without an update after which a message is assumed to be complete, for servers that do not mark the
   *  end. At most one hour. @defaultValue 30,000 */
  readonly silenceMs?: number | undefined;
}

export interface LinkOutgoing {
  readonly content: string;
  /** Images as `data:` URLs. */
  readonly media?: readonly (string | { readonly url: string; readonly filename?: string })[];
  /** Bridges the message has crossed. */
  readonly hops?: number;
  /** Unset: a new one. */
  readonly id?: string;
}

export interface Link {
  readonly sessionId: string;
  start(): void;
  /** Settles when the server confirmed the message. Rejects with a `LinkError`: `outbox_full`, `too_large`, `expired`,
   *  `stopped`, `id_reused` (another message with this id is still to be confirmed), or what the server answered. */
  send(message: string | LinkOutgoing): Promise<LinkReceipt>;
  typing(on: boolean): void;
  state(): LinkState;
  /** Tries at once instead of waiting: the token is another one, or the network came back. */
  retry(): void;
  /** For good. Messages nobody confirmed reject `stopped`. */
  stop(): void;
}
