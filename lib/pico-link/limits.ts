// Times and limits of the link. Times are in milliseconds. Each is a constant of its own, so that
// bundlers can inline it.

export const minRetryMs = 500;
export const maxRetryMs = 30_000;
/** Time between attempts while the user must change something. */
export const blockedRetryMs = 300_000;
/** The longest delay and idle timeout that a server can ask for. */
export const maxServerDelayMs = 3_600_000;
/** A connection that lasted this long and received something resets the failure count. */
export const stableAfterMs = 10_000;
export const connectTimeoutMs = 20_000;
/** A server that has sent nothing by then lacks the extension. */
export const helloTimeoutMs = 2_000;
export const pingIntervalMs = 30_000;
export const idleTimeoutMs = 60_000;
/** The minimum time from a ping to the end of the connection. */
export const pongTimeoutMs = 10_000;
export const ackDelayMs = 1_000;
/**
 * Default of `silenceMs`. Language models pause for seconds within a message, rarely for half a
 * minute.
 */
export const messageIdleMs = 30_000;
/** Time to wait for a confirmation. The server remembers message ids for twice as long. */
export const messageExpiryMs = 300_000;
/** A stop that could not be sent for this long is not sent. */
export const stopExpiryMs = 60_000;

// Bounds of the queues, and the rate of sending.

/** Unconfirmed messages, and their bytes. A single message may exceed the byte limit. */
export const maxQueuedMessages = 1_000;
export const maxQueuedBytes = 4 * 1024 * 1024;
/** Numbered frames that may remain unacknowledged. */
export const maxUnackedFrames = 32;
/** Lower than the limit of servers for one connection: 100 per second, 200 in one burst. */
export const messagesPerSecond = 80;
export const messageBurst = 150;
/** Unfinished messages that are kept. */
export const maxPartialMessages = 64;
/** Remembered questions. */
export const maxKnownQuestions = 256;
/** Remembered ids of complete messages. */
export const maxCompletedIds = 256;
