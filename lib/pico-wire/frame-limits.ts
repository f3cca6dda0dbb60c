/** Sizes that both ends look at, in bytes unless the name says otherwise. Apart from the others, which pages need not
 *  load. */
export const frameLimits = {
  /** A session's name, as UTF-8. */
  sessionId: 256,
  /** A message's name, as UTF-8. */
  id: 256,
  /** Media of one message (count). */
  media: 64,
  /** One frame from a client, unless the server's `max_payload` says otherwise. */
  inboundFrame: 32 * 1024 * 1024,
  /** Levels of objects and arrays in a frame (count): deeper input costs memory and means nothing. */
  depth: 64,
  /** Values in a frame (count), so that a frame of brackets cannot grow a hundredfold when it is parsed. */
  values: 65_536,
} as const;
