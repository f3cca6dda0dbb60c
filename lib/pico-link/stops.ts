// Keeps stops until the server answers them. A stop is sent after the messages that it may concern.
import type { StopAckFrame } from "../pico-wire/index.ts";
import type { StopRequest, LinkData } from "./types.ts";
import * as limits from "./limits.ts";
import { reject } from "./outbox.ts";
import { addEffect, update, type StepContext } from "./step-context.ts";

/** Removes the messages that were never sent; the server decides about the others. */
export function requestStop(context: StepContext, id: string, requestId?: string): void {
  const { state, outbox } = context.core;
  if (state === "closed") return failStop(context, id, "closed");
  const mine = outbox.filter((entry) => entry.id === (requestId ?? entry.id) && !entry.attempted);
  const removed = mine.map((entry) => ({ requestId: entry.id, status: "removed" }));
  for (const entry of mine) reject(context, entry.id, "stopped");
  if (requestId && removed.length > 0)
    return addEffect(context, { type: "halted", id, stopped: removed });
  const stop = { id, requestId, at: context.now, removed, sent: false };
  update(context, { stops: [...context.core.stops, stop] });
}

/** Sends the waiting stops. Servers that cannot stop messages have no `stop` in `hello`. */
export function sendStops(context: StepContext): void {
  const { connection, hello, stops } = context.core;
  if (!connection?.mode) return;
  if (connection.mode === "plain" || !hello?.can?.includes("stop"))
    return failStops(context, "unsupported");
  for (const { id, requestId, sent } of stops) {
    const payload = { request_id: requestId };
    const text = JSON.stringify({ type: "message.stop", id, payload });
    if (!sent) addEffect(context, { type: "write", text });
  }
  update(context, { stops: stops.map((stop) => ({ ...stop, sent: true })) });
}

/** Rejects the stops that match. */
export function failStops(
  context: StepContext,
  code: string,
  matches: (stop: StopRequest) => boolean = () => true,
): void {
  for (const stop of context.core.stops.filter(matches)) failStop(context, stop.id, code);
}

function failStop(context: StepContext, id: string, code: string): void {
  removeStop(context, id);
  addEffect(context, { type: "refused", id, code });
}

function removeStop(context: StepContext, id: string): void {
  update(context, { stops: context.core.stops.filter((stop) => stop.id !== id) });
}

export function handleStopAck(context: StepContext, payload: StopAckFrame["payload"]): void {
  const stop = context.core.stops.find(({ id }) => id === payload.request_id);
  if (!stop) return;
  removeStop(context, stop.id);
  const theirs = payload.stopped.map(({ request_id: requestId, status }) => ({
    requestId,
    status,
  }));
  addEffect(context, { type: "halted", id: stop.id, stopped: [...stop.removed, ...theirs] });
}

/** After a minute, the answer that the user saw is probably another one. */
export const expireStops = (context: StepContext): void =>
  failStops(context, "expired", (stop) => expiryOf(stop) <= context.now);

const expiryOf = ({ sent, at }: StopRequest): number =>
  sent ? Infinity : at + limits.stopExpiryMs;

/** @returns When the next stop expires; `Infinity` if there is none. */
export const nextExpiryAt = ({ stops }: LinkData): number =>
  Math.min(Infinity, ...stops.map(expiryOf));
