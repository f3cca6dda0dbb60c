import type { Address, Receipt } from "./service.ts";

export type ChannelsEvents = {
  /** A channel delivered, before the application runs; not for duplicates. Without content. */
  "channels:message-received": Address & {
    readonly id: string;
    readonly bytes: number;
    readonly at: number;
  };
  /** Somebody at the other end began to write, or stopped. */
  "channels:typing-changed": Address & { readonly on: boolean };
  /** A sent message reached another status. */
  "channels:receipt-changed": Address & Receipt;
};
