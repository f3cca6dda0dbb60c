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
