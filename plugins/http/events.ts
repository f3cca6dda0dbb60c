export type HttpEvents = {
  /** The port is open. */
  "http:listening": { url: string };
  /** A WebSocket came to an own listener at an address where nobody serves one. */
  "http:upgrade-unserved": { address: string };
};
