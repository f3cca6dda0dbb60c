const KiB = 1024;
const MiB = 1024 * KiB;

/** Sizes of the protocol, in bytes unless the name says otherwise. */
export const limits = {
  /** A session's name, as UTF-8. */
  sessionId: 256,
  /** A message's name, as UTF-8. */
  id: 256,
  /** `content` of a message from a client, as UTF-8. */
  content: MiB,
  /** One inline medium, decoded. */
  medium: 20 * MiB,
  /** Media of one message (count). */
  media: 64,
  /** One frame from a client, unless the server's `max_payload` says otherwise. */
  inboundFrame: 32 * MiB,
  /** One message from the server, serialised. */
  outboundFrame: 512 * KiB,
  /** Levels of objects and arrays in a frame (count): deeper input costs memory and means nothing. */
  depth: 64,
  /** Values in a frame (count), so that a frame of brackets cannot grow a hundredfold when it is parsed. */
  values: 65_536,
} as const;
