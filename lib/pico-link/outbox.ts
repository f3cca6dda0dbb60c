import { frameLimits } from "../pico-wire/index.ts";
import * as bounds from "./limits.ts";
import * as timing from "./limits.ts";
import { addEffect, updateConnection, update, type StepContext } from "./step-context.ts";
import type { LinkData, Effect, OutboxEntry, LinkReceipt } from "./types.ts";

/* Messages nobody has confirmed yet. Nothing is dropped silently: what does not fit is refused at once. */

export function enqueue(
  run: StepContext,
  { id, text, bytes }: Pick<OutboxEntry, "id" | "text" | "bytes">,
): void {
  const { outbox, hello, state } = run.core;
  const isFull =
    outbox.length >= bounds.maxQueuedMessages ||
    (outbox.length > 0 &&
      outbox.reduce((sum, entry) => sum + entry.bytes, bytes) > bounds.maxQueuedBytes);
  const code =
    state === "stopped"
      ? "stopped"
      : bytes > (hello?.max_payload || frameLimits.inboundFrame)
        ? "too_large"
        : isFull
          ? "outbox_full"
          : undefined;
  if (code) return addEffect(run, { type: "refused", id, code });
  const entry = { id, text, bytes, expiresAt: run.now + timing.messageExpiryMs, sent: false };
  update(run, { outbox: [...outbox, entry] });
}

/** Takes the message out and tells its sender. Unknown ids are of messages that were told already. */
function settleEntry(run: StepContext, id: string, news: Effect): void {
  const outbox = run.core.outbox.filter((entry) => entry.id !== id);
  if (outbox.length < run.core.outbox.length) addEffect(run, news);
  update(run, { outbox });
}

export const confirm = (run: StepContext, id: string, status: LinkReceipt["status"]): void =>
  settleEntry(run, id, { type: "confirmed", id, status });

export const reject = (run: StepContext, id: string, code: string, message?: string): void =>
  settleEntry(run, id, { type: "refused", id, code, ...(message && { message }) });

/** What was written has left. A server without the extension lets know no more than that. */
export function handleFlush(run: StepContext): void {
  if (run.core.connection?.mode !== "plain") return;
  for (const { id, sent } of run.core.outbox) if (sent) confirm(run, id, "written");
}

/** The socket is gone, and with it what it had not delivered. */
export const markAllUnsent = (run: StepContext): void =>
  update(run, { outbox: run.core.outbox.map((entry) => ({ ...entry, sent: false })) });

/** The largest message of the connection was too large for it. */
export function rejectLargest(run: StepContext): void {
  const [largest] = run.core.outbox.filter(({ sent }) => sent).sort((a, b) => b.bytes - a.bytes);
  if (largest) reject(run, largest.id, "too_large");
}

export function rejectExpired(run: StepContext): void {
  for (const { id, expiresAt } of run.core.outbox)
    if (expiresAt <= run.now) reject(run, id, "expired");
}

const intervalMs = 1_000 / bounds.messagesPerSecond;
const burstMs = bounds.messageBurst * intervalMs;

const isSent = ({ sent }: OutboxEntry): boolean => sent;

/** Servers without the extension cannot tell a repeated message from a new one. So they get one at a time: if the
 *  connection ends, only that one is repeated. The same holds until the server has said which kind it is. */
const isFull = ({ cursor, outbox }: LinkData): boolean => !cursor && outbox.some(isSent);

/** Writes the waiting messages, in order, no faster than servers accept them. */
export function sendQueued(run: StepContext): void {
  const { connection, outbox, cursor } = run.core;
  if (!connection || outbox.every(isSent)) return;
  let stops = isFull(run.core);
  let paceAt = Math.max(connection.paceAt, run.now);
  const after = outbox.map((entry) => {
    if (entry.sent || stops || paceAt > run.now + burstMs) return entry;
    stops = !cursor;
    paceAt += intervalMs;
    addEffect(run, { type: "write", text: entry.text });
    return { ...entry, sent: true };
  });
  update(run, { outbox: after });
  updateConnection(run, { paceAt });
}

/** When the next waiting message may be written. */
export const nextSendAt = (core: LinkData): number =>
  core.connection && !core.outbox.every(isSent) && !isFull(core)
    ? Math.ceil(core.connection.paceAt - burstMs)
    : Infinity;
