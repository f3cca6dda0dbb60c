/* The link to a pico channel: it connects, stays connected and loses nothing. `step` is all of it as a pure function of
 * the state, an event and the time; `createLink` carries its effects out on a socket and a timer; `createDialer` opens
 * sockets. Nothing of Node, no dependency but the codec: browsers run it as it is, and `client.ts` is their door. */
export {
  retryAfterMs,
  createDialer,
  type Dial,
  type OpenSocket,
  type DialOptions,
  type SocketListener,
  type SocketConstructor,
} from "./dial.ts";
export { linkErrors, type LinkError } from "./errors.ts";
export * as bounds from "./limits.ts";
export * as timing from "./limits.ts";
export { createLink } from "./link.ts";
export { initialData } from "./step-context.ts";
export type {
  Driver,
  Link,
  LinkHandlers,
  LinkOptions,
  LinkOutgoing,
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
export { nextAt, step } from "./step.ts";
