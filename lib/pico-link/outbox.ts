// Keeps messages until the server confirms them, and sends them at the permitted rate.
import { frameLimits } from "../pico-wire/index.ts";
import * as limits from "./limits.ts";
import { addEffect, updateConnection, update, type StepContext } from "./step-context.ts";
import type { LinkData, Effect, OutboxEntry, ChatReceipt } from "./types.ts";

// No message is dropped silently: a message that does not fit is rejected immediately.

export function enqueue(
  context: StepContext,
  { id, text, bytes }: Pick<OutboxEntry, "id" | "text" | "bytes">,
): void {
  const { outbox, hello, state } = context.core;
  const isFull =
    outbox.length >= limits.maxQueuedMessages ||
    (outbox.length > 0 &&
      outbox.reduce((sum, entry) => sum + entry.bytes, bytes) > limits.maxQueuedBytes);
  const code =
    state === "closed"
      ? "closed"
      : bytes > (hello?.max_payload || frameLimits.inboundFrame)
        ? "too_large"
        : isFull
          ? "outbox_full"
          : undefined;
  if (code) return addEffect(context, { type: "refused", id, code });
  const entry = { id, text, bytes, expiresAt: context.now + limits.messageExpiryMs, sent: false };
  const ownIds = [...context.core.ownIds, id].slice(-limits.maxCompletedIds);
  update(context, { outbox: [...outbox, entry], ownIds });
}

/** Removes the message and notifies its sender. A message with an unknown id was settled before. */
function settleEntry(context: StepContext, id: string, effect: Effect): void {
  const outbox = context.core.outbox.filter((entry) => entry.id !== id);
  if (outbox.length < context.core.outbox.length) addEffect(context, effect);
  update(context, { outbox });
}

export const confirm = (context: StepContext, id: string, status: ChatReceipt["status"]): void =>
  settleEntry(context, id, { type: "confirmed", id, status });

export const reject = (context: StepContext, id: string, code: string, message?: string): void =>
  settleEntry(context, id, { type: "refused", id, code, ...(message && { message }) });

/** The socket has sent everything. A server without the extension confirms no more than that. */
export function handleFlush(context: StepContext): void {
  if (context.core.connection?.mode !== "plain") return;
  for (const { id, sent } of context.core.outbox) if (sent) confirm(context, id, "written");
}

/** The socket is closed. Messages and stops without a confirmation may be lost. */
export const markAllUnsent = (context: StepContext): void =>
  update(context, {
    outbox: context.core.outbox.map((entry) => ({ ...entry, sent: false })),
    stops: context.core.stops.map((stop) => ({ ...stop, sent: false })),
  });

/** Rejects the largest message of a connection that was closed because of a large message. */
export function rejectLargest(context: StepContext): void {
  const [largest] = context.core.outbox
    .filter(({ sent }) => sent)
    .sort((a, b) => b.bytes - a.bytes);
  if (largest) reject(context, largest.id, "too_large");
}

export function rejectExpired(context: StepContext): void {
  for (const { id, expiresAt } of context.core.outbox)
    if (expiresAt <= context.now) reject(context, id, "expired");
}

const intervalMs = 1_000 / limits.messagesPerSecond;
const burstMs = limits.messageBurst * intervalMs;

const isSent = ({ sent }: OutboxEntry): boolean => sent;

/**
 * A server without the extension cannot tell a repeated message from a new one. It therefore gets
 * one message at a time: if the connection ends, only that one is repeated. The same applies while
 * the kind of server is unknown.
 */
const isFull = ({ cursor, outbox }: LinkData): boolean => !cursor && outbox.some(isSent);

/** Writes the queued messages in order, no faster than servers accept them. */
export function sendQueued(context: StepContext): void {
  const { connection, outbox, cursor } = context.core;
  if (!connection || outbox.every(isSent)) return;
  let isHeld = isFull(context.core);
  const hasStops = context.core.stops.some(({ sent }) => !sent);
  let paceAt = Math.max(connection.paceAt, context.now);
  const after = outbox.map((entry) => {
    if (entry.sent || isHeld || paceAt > context.now + burstMs) return entry;
    // A stop must not concern the messages that follow it.
    if (hasStops && !entry.attempted) isHeld = true;
    if (isHeld) return entry;
    isHeld = !cursor;
    paceAt += intervalMs;
    addEffect(context, { type: "write", text: entry.text });
    return { ...entry, sent: true, attempted: true };
  });
  update(context, { outbox: after });
  updateConnection(context, { paceAt });
}

/** @returns When the next queued message may be written; `Infinity` if there is none. */
export const nextSendAt = (linkData: LinkData): number =>
  linkData.connection && !linkData.outbox.every(isSent) && !isFull(linkData)
    ? Math.ceil(linkData.connection.paceAt - burstMs)
    : Infinity;
