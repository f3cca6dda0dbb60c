/** Addresses of sessions, and the persons behind messages. */

/** The destination of a message: a session of a channel. */
export interface Address {
  /** Name of an attached channel, as its adapter declares it: `pico`. */
  readonly channel: string;
  /** Session id within the channel, chosen by the client or the channel. At most 256 bytes of
   *  UTF-8 without control characters on `pico`; other channels may use other forms. */
  readonly session: string;
}

/** The person or program that wrote a message, as the server knows it. Clients cannot set it. */
export interface Sender {
  /** `owner`: a sign-in of the dashboard. `token:NAME`: a client with that token. `host:ID`: the
   *  person that the host's `identify` named. `key:ID`: a client with that key. */
  readonly id: string;
  /** Name for people, if the host knows one. */
  readonly name?: string;
}

/** The person or program that stops messages. */
export interface Stopper extends Sender {
  /** Stops only the messages that this sender has written. @defaultValue `false` */
  readonly ownOnly?: boolean;
}
