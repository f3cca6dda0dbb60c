export type HttpEvents = {
  /** The port is open. */
  "http:listening": { url: string };
};
