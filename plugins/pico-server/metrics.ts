/**
 * Counters since startup, as plain numbers. All label sets are fixed, so that clients cannot
 * increase their memory.
 */
import type { Socket } from "node:net";
import {
  closeCodes,
  gapReasons,
  messageErrors,
  rejections,
  type ClientFrame,
  type ServerFrame,
} from "../../lib/pico-wire/index.ts";
import type { ByteCounts, ConnectionRegistry } from "./connection/registry.ts";
import type { HandshakeRequest, TokenMethod } from "./handshake/request.ts";
import type { PicoMetrics, PicoServerEvents } from "./service.ts";
import type { Replay } from "../conversations/index.ts";

type CountByName<K extends string> = Record<K, number>;

const zeroCounts = <K extends string>(keys: readonly K[]): CountByName<K> =>
  Object.fromEntries(keys.map((key) => [key, 0])) as CountByName<K>;

/** `invalid`: malformed, or rejected without decoding because the client exceeded its rate. */
type InboundFrameType = ClientFrame["type"] | "invalid";
type OutboundFrameType = ServerFrame["type"];
const inboundFrameCounts: CountByName<InboundFrameType> = {
  "message.send": 0,
  "media.send": 0,
  "typing.start": 0,
  "typing.stop": 0,
  ping: 0,
  ack: 0,
  "message.stop": 0,
  "question.answer": 0,
  invalid: 0,
};
const outboundFrameCounts: CountByName<OutboundFrameType> = {
  "message.create": 0,
  "message.update": 0,
  "message.append": 0,
  "message.delete": 0,
  "media.create": 0,
  "typing.start": 0,
  "typing.stop": 0,
  error: 0,
  pong: 0,
  hello: 0,
  "message.ack": 0,
  notice: 0,
  gap: 0,
  "message.user": 0,
  "stop.ack": 0,
  "question.ack": 0,
  "answer.end": 0,
};

const handshakeResults = ["accepted", ...Object.keys({ ...rejections, ...messageErrors })];
const methods = ["none", "header", "subprotocol", "query"] as const;
const authReasons = [
  "token_missing",
  "sign_in_rejected",
  "token_malformed",
  "token_mismatch",
  "token_query_disabled",
  "rate_limited",
] as const;
type AuthReason = (typeof authReasons)[number];
const initiators = ["client", "server", "network"] as const;
/** 1005: close without a code. 1006: the network failed. Clients may send any code. */
const closeCodeLabels = [
  ...new Set([...Object.values(closeCodes).map(({ code }) => code), 1005, 1006, "other"]),
].map(String);

export interface Counters {
  /** WebSocket handshakes by result: `accepted`, or the rejection code. */
  readonly handshakes: CountByName<string>;
  /** By the side that closed the connection, then by close code. */
  readonly closes: Readonly<Record<(typeof initiators)[number], CountByName<string>>>;
  readonly framesIn: CountByName<InboundFrameType>;
  readonly framesOut: CountByName<OutboundFrameType>;
  /** Bytes of closed connections. */
  bytesIn: number;
  bytesOut: number;
  /** Queued frames that a later frame replaced. */
  coalesced: number;
  /**
   * `typing`: dropped because the queue was full. `closed`: still queued when the connection
   * closed.
   */
  readonly dropped: CountByName<"typing" | "closed">;
  readonly resumes: CountByName<"resumed" | "gap">;
  readonly gaps: CountByName<(typeof gapReasons)[number]>;
  /** By token method, then by reason. */
  readonly authFailures: Readonly<Record<(typeof methods)[number], CountByName<AuthReason>>>;
}

export const createCounters = (): Counters => ({
  handshakes: zeroCounts(handshakeResults),
  closes: {
    client: zeroCounts(closeCodeLabels),
    server: zeroCounts(closeCodeLabels),
    network: zeroCounts(closeCodeLabels),
  },
  framesIn: { ...inboundFrameCounts },
  framesOut: { ...outboundFrameCounts },
  bytesIn: 0,
  bytesOut: 0,
  coalesced: 0,
  dropped: { typing: 0, closed: 0 },
  resumes: { resumed: 0, gap: 0 },
  gaps: zeroCounts(gapReasons),
  authFailures: {
    none: zeroCounts(authReasons),
    header: zeroCounts(authReasons),
    subprotocol: zeroCounts(authReasons),
    query: zeroCounts(authReasons),
  },
});

/** Adds one. An unknown name counts as `other` if the set has it, otherwise not at all. */
export function increment(counts: CountByName<string>, name: string): void {
  if (Object.hasOwn(counts, name)) counts[name]! += 1;
  else if (Object.hasOwn(counts, "other")) counts["other"]! += 1;
}

/**
 * Counts a new subscription.
 * @param resumes - The client sent a cursor.
 */
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
  { code, method }: { readonly code: string; readonly method?: TokenMethod },
): void {
  if (isUpgrade) increment(handshakes, code);
  const failures = authFailures[method ?? "none"];
  if (isAuthReason(code, failures) && (method || code === "token_missing")) failures[code] += 1;
}

export const countClose = (
  { closes }: Counters,
  { code, initiator }: PicoServerEvents["pico-server:disconnected"],
): void => increment(closes[initiator], String(code));

type CountingSocket = Pick<Socket, "bytesRead" | "bytesWritten">;

/**
 * Counts the bytes from its creation on: earlier bytes of the socket belong to the handshake or to
 * another request.
 */
export class ByteCounter {
  private readonly socket: CountingSocket | null;
  private readonly readBefore: number;
  private readonly writtenBefore: number;

  constructor(socket: CountingSocket | null) {
    this.socket = socket;
    this.readBefore = socket?.bytesRead ?? 0;
    this.writtenBefore = socket?.bytesWritten ?? 0;
  }

  read(): ByteCounts {
    const { bytesRead = 0, bytesWritten = 0 } = this.socket ?? {};
    return { in: bytesRead - this.readBefore, out: bytesWritten - this.writtenBefore };
  }
}

/** Returns the counters, with the current values of open connections. */
export function readMetrics(
  counters: Counters,
  connectionRegistry: ConnectionRegistry,
): PicoMetrics {
  const { bytesIn, bytesOut, framesIn, framesOut, ...rest } = counters;
  const bytes = { in: bytesIn, out: bytesOut };
  let queueBytes = 0;
  for (const peer of connectionRegistry.list()) {
    const bytesOfPeer = peer.byteCounts();
    bytes.in += bytesOfPeer.in;
    bytes.out += bytesOfPeer.out;
    queueBytes += peer.traffic().queuedBytes;
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
