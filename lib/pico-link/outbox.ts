import { frameLimits } from "../pico-wire/index.ts";
import * as bounds from "./bounds.ts";
import * as timing from "./timing.ts";
import { effect, note, set, type Run } from "./run.ts";
import type { Core, Effect, Entry, LinkReceipt } from "./types.ts";

/* Messages nobody has confirmed yet. Nothing is dropped silently: what does not fit is refused at once. */

export function put(run: Run, { id, text, bytes }: Pick<Entry, "id" | "text" | "bytes">): void {
  const { outbox, hello, state } = run.core;
  const isFull =
    outbox.length >= bounds.messages ||
    (outbox.length > 0 && outbox.reduce((sum, entry) => sum + entry.bytes, bytes) > bounds.bytes);
  const code =
    state === "stopped"
      ? "stopped"
      : bytes > (hello?.max_payload || frameLimits.inboundFrame)
        ? "too_large"
        : isFull
          ? "outbox_full"
          : undefined;
  if (code) return effect(run, { type: "refused", id, code });
  const entry = { id, text, bytes, expiresAt: run.now + timing.outbox, sent: false };
  set(run, { outbox: [...outbox, entry] });
}

/** Takes the message out and tells its sender. Unknown ids are of messages that were told already. */
function tellSender(run: Run, id: string, news: Effect): void {
  const outbox = run.core.outbox.filter((entry) => entry.id !== id);
  if (outbox.length < run.core.outbox.length) effect(run, news);
  set(run, { outbox });
}

export const settle = (run: Run, id: string, status: LinkReceipt["status"]): void =>
  tellSender(run, id, { type: "confirmed", id, status });

export const refuse = (run: Run, id: string, code: string, message?: string): void =>
  tellSender(run, id, { type: "refused", id, code, ...(message && { message }) });

/** What was written has left. A server without the extension lets know no more than that. */
export function flushed(run: Run): void {
  if (run.core.connection?.mode !== "plain") return;
  for (const { id, sent } of run.core.outbox) if (sent) settle(run, id, "written");
}

/** The socket is gone, and with it what it had not delivered. */
export const unsend = (run: Run): void =>
  set(run, { outbox: run.core.outbox.map((entry) => ({ ...entry, sent: false })) });

/** The largest message of the connection was too large for it. */
export function refuseLargest(run: Run): void {
  const [largest] = run.core.outbox.filter(({ sent }) => sent).sort((a, b) => b.bytes - a.bytes);
  if (largest) refuse(run, largest.id, "too_large");
}

export function expire(run: Run): void {
  for (const { id, expiresAt } of run.core.outbox)
    if (expiresAt <= run.now) refuse(run, id, "expired");
}

const everyMs = 1_000 / bounds.perSecond;
const burstMs = bounds.burst * everyMs;

const isSent = ({ sent }: Entry): boolean => sent;

/** Servers without the extension cannot tell a repeated message from a new one. So they get one at a time: if the
 *  connection ends, only that one is repeated. The same holds until the server has said which kind it is. */
const isFull = ({ cursor, outbox }: Core): boolean => !cursor && outbox.some(isSent);

/** Writes the waiting messages, in order, no faster than servers accept them. */
export function pump(run: Run): void {
  const { connection, outbox, cursor } = run.core;
  if (!connection || outbox.every(isSent)) return;
  let stops = isFull(run.core);
  let paceAt = Math.max(connection.paceAt, run.now);
  const after = outbox.map((entry) => {
    if (entry.sent || stops || paceAt > run.now + burstMs) return entry;
    stops = !cursor;
    paceAt += everyMs;
    effect(run, { type: "write", text: entry.text });
    return { ...entry, sent: true };
  });
  set(run, { outbox: after });
  note(run, { paceAt });
}

/** When the next waiting message may be written. */
export const pumpAt = (core: Core): number =>
  core.connection && !core.outbox.every(isSent) && !isFull(core)
    ? Math.ceil(core.connection.paceAt - burstMs)
    : Infinity;
