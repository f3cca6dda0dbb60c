/* The link to a pico channel: it connects, stays connected and loses nothing. `step` is all of it as a pure function of
 * the state, an event and the time; `createLink` carries its effects out on a socket and a timer; `createDialer` opens
 * sockets. Nothing of Node, no dependency but the codec: browsers run it as it is, and `client.ts` is their door. */
export { retryAfterMs } from "./address.ts";
export {
  createDialer,
  type Dial,
  type OpenSocket,
  type DialOptions,
  type SocketListener,
  type SocketConstructor,
} from "./dial.ts";
export { linkErrors, type LinkError } from "./errors.ts";
export * as bounds from "./bounds.ts";
export * as timing from "./timing.ts";
export { createLink } from "./link.ts";
export { initialData } from "./run.ts";
export type { Driver, Link, LinkHandlers, LinkOptions, LinkOutgoing } from "./service.ts";
export { nextAt, step } from "./step.ts";
export type {
  Clock,
  LinkData,
  Effect,
  LinkChange,
  LinkEvent,
  LinkGap,
  LinkMessage,
  LinkNotifications,
  LinkReceipt,
  LinkState,
  HandshakeRejection,
  ResumePoint,
  SocketEvent,
  NotifyEffect,
} from "./types.ts";
