/* Times in milliseconds, each by itself: a bundler writes the number where it is used. */

export const minRetry = 500;
export const maxRetry = 30_000;
/** Between tries while a person has to change something. */
export const slowRetry = 300_000;
/** The longest wait, and the longest silence, that a server can ask for. */
export const longestRetry = 3_600_000;
/** A connection that lasted this long, and over which something came, forgets the failures before it. */
export const steady = 10_000;
export const connect = 20_000;
/** A server that said nothing by then has no extension. */
export const hello = 2_000;
export const ping = 30_000;
export const dead = 60_000;
/** From a ping to giving up, at least. */
export const grace = 10_000;
export const ack = 1_000;
/** Default of `silenceMs`. Language models pause for seconds in the middle of a message, rarely for half a minute. */
export const silence = 30_000;
/** A message nobody confirmed. The server remembers ids for twice as long. */
export const outbox = 300_000;
