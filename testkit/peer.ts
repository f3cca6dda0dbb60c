import type { Awaitable } from "../kernel/index.ts";

/** What the other end of a channel sees, in words that all channels share. */
export type PeerEvent =
  | { readonly what: "create"; readonly id: string; readonly content: string }
  /** With the full text so far. */
  | {
      readonly what: "update";
      readonly id: string;
      readonly content: string;
      readonly final?: boolean;
    }
  | { readonly what: "remove"; readonly id: string }
  | { readonly what: "typing"; readonly on: boolean }
  | { readonly what: "error"; readonly code: string };

/** Somebody at the other end of a channel, as its author knows how to be one. */
export interface Peer {
  /** Where messages for this peer are sent. */
  readonly session: string;
  say(content: string): Awaitable<unknown>;
  /** What it sees next, in the order it came; pending while there is nothing. */
  next(): Promise<PeerEvent>;
  /** Resolves when the channel knows that it has gone. */
  leave(): Awaitable<unknown>;
}
