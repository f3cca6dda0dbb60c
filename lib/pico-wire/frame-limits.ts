/**
 * Limits that clients and servers check, in bytes unless the comment says otherwise. In a file of
 * their own, because the browser bundle needs only these.
 */
export const frameLimits = {
  /** A session id, as UTF-8. */
  sessionId: 256,
  /** A message id, as UTF-8. */
  id: 256,
  /** Media of one message (count). */
  media: 64,
  /** One frame from a client, unless `max_payload` of the server differs. */
  inboundFrame: 32 * 1024 * 1024,
  /** Levels of objects and arrays in a frame (count). Deeper input costs memory and has no use. */
  depth: 64,
  /**
   * Values in a frame (count). Without the limit, a frame of brackets grows a hundredfold when it
   * is parsed.
   */
  values: 65_536,
} as const;
