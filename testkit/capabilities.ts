// Properties of a network, to which the rules for channels adapt.

/**
 * Properties of the network of a channel. The defaults describe a network that does everything.
 * Declare each difference; the rules then check less, or something else.
 *
 * @example
 * import type { ChannelCapabilities } from "doorward/testing";
 * const capabilities: ChannelCapabilities = { messageIds: "network", maxTextLength: 4_096 };
 */
export interface ChannelCapabilities {
  /**
   * The side that chooses the message ids on the network. With `"network"`, a peer may see other
   * ids than the receipts name; an update and a removal still carry the id of their message.
   * @defaultValue `"doorward"`
   */
  readonly messageIds?: "doorward" | "network";
  /**
   * Longest text of one message, in UTF-16 code units. The channel sends a longer text as several
   * messages in order, or rejects it: with `too_large`, or as `undelivered`.
   * @defaultValue `Infinity`; the rules send 100,000 characters
   */
  readonly maxTextLength?: number;
  /** Whether the network marks the last update of a message (`final`). @defaultValue true */
  readonly finals?: boolean;
  /** Whether the network carries the `kind` of a message. @defaultValue true */
  readonly kinds?: boolean;
  /** Whether the network carries `inReplyTo` of a message. @defaultValue true */
  readonly replies?: boolean;
  /** Whether peers receive an error if their message fails. @defaultValue true */
  readonly errors?: boolean;
  /**
   * Whether the network can end the typing indicator. If false, the indicator expires by itself.
   * @defaultValue true
   */
  readonly typingOff?: boolean;
  /** Whether the channel notices that a peer has left. @defaultValue true */
  readonly presence?: boolean;
  /**
   * Whether the channel checks who connects or writes. If true, pass `intrude`. Declare false only
   * if the network or a broker does it.
   * @defaultValue true
   */
  readonly authentication?: boolean;
  /**
   * Whether peers acknowledge messages. If true, every message to a peer becomes `delivered`; if
   * false, none does.
   * @defaultValue false
   */
  readonly acknowledgements?: boolean;
  /**
   * Whether a broker or mailbox between the channel and its peers keeps messages while the channel
   * is stopped. If true, the channel must deliver them after the next start; if false, it must not.
   * @defaultValue false
   */
  readonly keepsMessages?: boolean;
  /**
   * Whether two kernels can serve the network in parallel. Declare false if they would share an
   * account or a room. A network that keeps messages is not checked.
   * @defaultValue true
   */
  readonly twoKernels?: boolean;
  /**
   * Whether the frame of a client may name the session of its message, because every client with
   * permission may use every session.
   * @defaultValue false
   */
  readonly sessionsInFrames?: boolean;
}

/** The capabilities of a network that does everything. */
export const defaultCapabilities: Required<ChannelCapabilities> = {
  messageIds: "doorward",
  maxTextLength: Infinity,
  finals: true,
  kinds: true,
  replies: true,
  errors: true,
  typingOff: true,
  presence: true,
  authentication: true,
  acknowledgements: false,
  keepsMessages: false,
  twoKernels: true,
  sessionsInFrames: false,
};
