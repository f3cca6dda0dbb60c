/* How much is kept, and how fast it goes. */

/** Messages that wait or are not confirmed; and their bytes, unless it is one alone. */
export const messages = 1_000;
export const bytes = 4 * 1024 * 1024;
/** Numbered frames that may stay unacknowledged. */
export const unacked = 32;
/** Below what a server takes of one connection: 100 a second, 200 at once. */
export const perSecond = 80;
export const burst = 150;
/** Messages in progress. */
export const parts = 64;
/** Remembered ids of complete messages. */
export const told = 256;
