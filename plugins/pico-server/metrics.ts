/* What happened since the start, as plain numbers: counted on the way, read when somebody asks. Every set of labels is
 * closed, so that nobody outside decides how much there is to keep. */
import {
  closeCodes,
  gapReasons,
  messageErrors,
  rejections,
  type ClientFrame,
  type ServerFrame,
} from "../../lib/pico-wire/index.ts";
import type { ConnectionRegistry } from "./connection/registry.ts";
import type { Rejection } from "./handshake/rejection.ts";
import type { HandshakeRequest } from "./handshake/request.ts";
import type { PicoMetrics, PicoServerEvents } from "./service.ts";
import type { Replay } from "./session/session-log.ts";

type Tally<K extends string> = Record<K, number>;

const zeros = <K extends string>(keys: readonly K[]): Tally<K> =>
  Object.fromEntries(keys.map((key) => [key, 0])) as Tally<K>;

/** `invalid`: not readable, or refused unread because its sender was too fast. */
type InboundFrameType = ClientFrame["type"] | "invalid";
type OutboundFrameType = ServerFrame["type"];
const inboundFrameCounts: Tally<InboundFrameType> = {
  "message.send": 0,
  "media.send": 0,
  "typing.start": 0,
  "typing.stop": 0,
  ping: 0,
  ack: 0,
  invalid: 0,
};
const outboundFrameCounts: Tally<OutboundFrameType> = {
  "message.create": 0,
  "message.update": 0,
  "message.delete": 0,
  "media.create": 0,
  "typing.start": 0,
  "typing.stop": 0,
  error: 0,
  pong: 0,
  hello: 0,
  "message.ack": 0,
  gap: 0,
};

const handshakeResults = ["accepted", ...Object.keys({ ...rejections, ...messageErrors })];
const methods = ["none", "header", "subprotocol", "query"] as const;
const authReasons = [
  "token_missing",
  "token_malformed",
  "token_mismatch",
  "token_query_disabled",
  "rate_limited",
] as const;
export type AuthReason = (typeof authReasons)[number];
const initiators = ["client", "server", "network"] as const;
/** 1005: a close without a code; 1006: the network ended it. Clients may say any number. */
const closeCodeLabels = [
  ...new Set([...Object.values(closeCodes).map(({ code }) => code), 1005, 1006, "other"]),
].map(String);

export interface Counters {
  /** Handshakes of WebSockets by their result: `accepted`, or why not. */
  readonly handshakes: Tally<string>;
  /** By who ended it, then by close code. */
  readonly closes: Readonly<Record<(typeof initiators)[number], Tally<string>>>;
  readonly framesIn: Tally<InboundFrameType>;
  readonly framesOut: Tally<OutboundFrameType>;
  /** Of connections that are gone. */
  bytesIn: number;
  bytesOut: number;
  /** Frames that waited and gave way to a later one, which says all that they said. */
  coalesced: number;
  /** `typing` gives way when a queue is full; `closed` still waited when their connection ended. */
  readonly dropped: Tally<"typing" | "closed">;
  readonly resumes: Tally<"resumed" | "gap">;
  readonly gaps: Tally<(typeof gapReasons)[number]>;
  /** By method, then by reason. */
  readonly authFailures: Readonly<Record<(typeof methods)[number], Tally<AuthReason>>>;
}

export const createCounters = (): Counters => ({
  handshakes: zeros(handshakeResults),
  closes: {
    client: zeros(closeCodeLabels),
    server: zeros(closeCodeLabels),
    network: zeros(closeCodeLabels),
  },
  framesIn: { ...inboundFrameCounts },
  framesOut: { ...outboundFrameCounts },
  bytesIn: 0,
  bytesOut: 0,
  coalesced: 0,
  dropped: { typing: 0, closed: 0 },
  resumes: { resumed: 0, gap: 0 },
  gaps: zeros(gapReasons),
  authFailures: {
    none: zeros(authReasons),
    header: zeros(authReasons),
    subprotocol: zeros(authReasons),
    query: zeros(authReasons),
  },
});

/** Adds one. A name that the set has not counts as `other` where there is such a place. */
export function increment(tally: Tally<string>, name: string): void {
  if (Object.hasOwn(tally, name)) tally[name]! += 1;
  else if (Object.hasOwn(tally, "other")) tally["other"]! += 1;
}

/** Somebody began to hear a session; `resumes`: it named the place where it had stopped. */
export function countResume(
  { resumes: results, gaps }: Counters,
  resumes: boolean,
  { gap }: Pick<Replay, "gap">,
): void {
  if (resumes) results[gap ? "gap" : "resumed"] += 1;
  if (gap) gaps[gap.reason] += 1;
}

const isAuthReason = (code: string, known: object): code is AuthReason =>
  Object.hasOwn(known, code);

export function countRejection(
  { handshakes, authFailures }: Counters,
  { isUpgrade }: HandshakeRequest,
  rejection: Rejection,
): void {
  const { code, method } = rejection;
  if (isUpgrade) increment(handshakes, code);
  const failures = authFailures[method ?? "none"];
  if (isAuthReason(code, failures) && (method || code === "token_missing")) failures[code] += 1;
}

export const countClose = (
  { closes }: Counters,
  { code, initiator }: PicoServerEvents["pico-server:disconnected"],
): void => increment(closes[initiator], String(code));

/** What was counted, with what can be asked of the connections that are here. */
export function readMetrics(
  counters: Counters,
  connectionRegistry: ConnectionRegistry,
): PicoMetrics {
  const { bytesIn, bytesOut, framesIn, framesOut, ...rest } = counters;
  const bytes = { in: bytesIn, out: bytesOut };
  let queueBytes = 0;
  for (const link of connectionRegistry.list()) {
    const carried = link.carried();
    bytes.in += carried.in;
    bytes.out += carried.out;
    queueBytes += link.traffic().queuedBytes;
  }
  return {
    ...rest,
    frames: { in: framesIn, out: framesOut },
    bytes,
    queueBytes,
    connections: connectionRegistry.count(),
    wheelLateSeconds: connectionRegistry.lateSeconds(),
  };
}
