/** Times in milliseconds. */
export const timing = {
  minRetry: 500,
  maxRetry: 30_000,
  /** Between tries while a person has to change something. */
  slowRetry: 300_000,
  /** The longest wait a server can ask for. */
  longestRetry: 3_600_000,
  /** A connection that lasted this long, and over which something came, forgets the failures before it. */
  steady: 10_000,
  connect: 20_000,
  /** A server that said nothing by then has no extension. */
  hello: 2_000,
  ping: 30_000,
  dead: 60_000,
  /** From a ping to giving up, at least. */
  grace: 10_000,
  ack: 1_000,
  /** Without it, or `typing.stop`, an answer of a plain server would never be whole. */
  silence: 3_000,
  /** A message nobody confirmed. The server remembers ids for twice as long. */
  outbox: 300_000,
} as const;

export const bounds = {
  /** Messages that wait or are not confirmed; and their bytes, unless it is one alone. */
  messages: 1_000,
  bytes: 4 * 1024 * 1024,
  /** Numbered frames that may stay unacknowledged. */
  unacked: 32,
  /** Below what a server takes of one connection: 100 a second, 200 at once. */
  perSecond: 80,
  burst: 150,
  /** Messages in progress. */
  parts: 64,
} as const;
