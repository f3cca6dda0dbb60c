/* Times in milliseconds, each by itself: a bundler writes the number where it is used. */

export const minRetryMs = 500;
export const maxRetryMs = 30_000;
/** Between tries while a person has to change something. */
export const blockedRetryMs = 300_000;
/** The longest wait, and the longest silence, that a server can ask for. */
export const maxServerDelayMs = 3_600_000;
/** A connection that lasted this long, and over which something came, forgets the failures before it. */
export const stableAfterMs = 10_000;
export const connectTimeoutMs = 20_000;
/** A server that said nothing by then has no extension. */
export const helloTimeoutMs = 2_000;
export const pingIntervalMs = 30_000;
export const idleTimeoutMs = 60_000;
/** From a ping to giving up, at least. */
export const pongTimeoutMs = 10_000;
export const ackDelayMs = 1_000;
/** Default of `silenceMs`. Language models pause for seconds in the middle of a message, rarely for half a minute. */
export const messageIdleMs = 30_000;
/** A message nobody confirmed. The server remembers ids for twice as long. */
export const messageExpiryMs = 300_000;

/* How much is kept, and how fast it goes. */

/** Messages that wait or are not confirmed; and their bytes, unless it is one alone. */
export const maxQueuedMessages = 1_000;
export const maxQueuedBytes = 4 * 1024 * 1024;
/** Numbered frames that may stay unacknowledged. */
export const maxUnackedFrames = 32;
/** Below what a server takes of one connection: 100 a second, 200 at once. */
export const messagesPerSecond = 80;
export const messageBurst = 150;
/** Messages in progress. */
export const maxPartialMessages = 64;
/** Remembered ids of complete messages. */
export const told = 256;
