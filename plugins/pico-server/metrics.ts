import type { ConnectionRegistry } from "./connections.ts";
import { increment, type AuthReason, type Counters } from "./counters.ts";
import type { PicoServerEvents } from "./events.ts";
import type { HandshakeRequest } from "./knock.ts";
import type { Rejection } from "./refusals.ts";
import type { PicoMetrics } from "./service.ts";

const isAuthReason = (code: string, known: object): code is AuthReason =>
  Object.hasOwn(known, code);

export function countRejection(
  { handshakes, authFailures }: Counters,
  { isUpgrade }: HandshakeRequest,
  refusal: Rejection,
): void {
  const { code, method } = refusal;
  if (isUpgrade) increment(handshakes, code);
  const failures = authFailures[method ?? "none"];
  if (isAuthReason(code, failures) && (method || code === "token_missing")) failures[code] += 1;
}

export const countClose = (
  { closes }: Counters,
  { code, initiator }: PicoServerEvents["pico-server:disconnected"],
): void => increment(closes[initiator], String(code));

/** What was counted, with what can be asked of the connections that are here. */
export function readMetrics(counters: Counters, connections: ConnectionRegistry): PicoMetrics {
  const { bytesIn, bytesOut, framesIn, framesOut, ...rest } = counters;
  const bytes = { in: bytesIn, out: bytesOut };
  let queueBytes = 0;
  for (const link of connections.list()) {
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
    connections: connections.count(),
    wheelLateSeconds: connections.lateSeconds(),
  };
}
