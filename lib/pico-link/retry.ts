// Decides what happens after a failed handshake or a closed connection.
import { interpretClose } from "../pico-wire/index.ts";
import * as limits from "./limits.ts";
import { markAllUnsent, rejectLargest } from "./outbox.ts";
import { failStops } from "./stops.ts";
import { addEffect, enterState, hasSocket, update, type StepContext } from "./step-context.ts";
import type { LinkData, HandshakeRejection } from "./types.ts";

/**
 * The minimum attempt number after `going_away`, which servers send when they stop. The first
 * attempts are then as rare as the fourth otherwise.
 */
const minAttemptAfterRestart = 3;

/**
 * Calculates the delay to the next attempt with full jitter between a minimum and a bound that
 * doubles with every failure.
 *
 * @param named - Milliseconds that the server asked for. They are kept and spread a little, so that
 * not all clients return together.
 * @param floor - The minimum number of failures to assume.
 * @returns Milliseconds.
 */
function retryDelay(
  { attempt, hello }: LinkData,
  random: number,
  named?: number,
  floor = 0,
): number {
  const minMs = hello?.retry.min || limits.minRetryMs;
  const maxMs = Math.max(minMs, hello?.retry.max || limits.maxRetryMs);
  const bound = Math.min(maxMs, minMs * 2 ** (Math.max(attempt, floor) + 1));
  const spread = named === undefined ? bound - minMs : minMs;
  return Math.round(
    Math.min(named ?? minMs, limits.maxServerDelayMs) +
      random * Math.min(spread, limits.maxServerDelayMs),
  );
}

const token = "Is the token the same on both sides?";
const header = 'Is the header "Authorization: Bearer <token>"?';
const query = "Is allow_token_query on, if it is in the URL?";
const adviceByMethod: Readonly<Record<string, string>> = {
  token_mismatch: token,
  token_malformed: header,
  token_query_disabled: query,
  origin_not_allowed: "Does allow_origins list this origin?",
  session_forbidden: "May this sign-in use the session?",
  bad_request: "Are address and session_id right?",
  not_found: "Is the path right, and the channel enabled?",
  upgrade_required: "Does a proxy strip Upgrade?",
  no_websocket: "Node 20 needs the package ws: npm install ws",
};
const codeByStatus: Readonly<Record<number, string>> = {
  400: "bad_request",
  404: "not_found",
  426: "upgrade_required",
};

/** Drops the socket, if there is one. Its later events are ignored. */
function dropConnection(context: StepContext): void {
  const { connection, generation, quietMs } = context.core;
  if (hasSocket(context.core)) addEffect(context, { type: "drop" });
  markAllUnsent(context);
  const quiet = connection && !connection.mode ? context.now - connection.openedAt : 0;
  update(context, {
    connection: undefined,
    generation: generation + 1,
    // Without suspension, a longer silence would have been noticed. It proves nothing about the
    // server.
    quietMs: quietMs + (quiet < limits.helloTimeoutMs ? quiet : 0),
  });
}

export function scheduleRetry(
  context: StepContext,
  reason: string,
  named?: number,
  floor?: number,
): void {
  waitFor(context, "waiting", reason, retryDelay(context.core, context.random, named, floor));
}

function enterBlocked(context: StepContext, reason: string, check = adviceByMethod[reason]): void {
  waitFor(
    context,
    "blocked",
    reason,
    limits.blockedRetryMs,
    check ?? `${token} ${header} ${query}`,
  );
}

function waitFor(
  context: StepContext,
  state: "waiting" | "blocked",
  reason: string,
  ms: number,
  check?: string,
): void {
  dropConnection(context);
  update(context, { attempt: context.core.attempt + 1 });
  enterState(context, state, reason, context.now + ms, check);
}

/** After the second rejection in a row, the user must change something. */
function handleRejection(context: StepContext, reason: string, named?: number): void {
  const rejections = context.core.rejections + 1;
  update(context, { rejections });
  if (rejections > 1) enterBlocked(context, reason);
  else scheduleRetry(context, reason, named);
}

/** Handles a failed handshake. */
export function handleFailure(
  context: StepContext,
  { status, code, retryAfterMs }: HandshakeRejection,
): void {
  const known = status === undefined ? undefined : codeByStatus[status];
  const reason = code || known || (status === undefined ? "network" : `http_${status}`);
  if (status === 401 || status === 403) return handleRejection(context, reason, retryAfterMs);
  if (reason === "no_websocket") return enterBlocked(context, reason);
  const mayPass = status === 426 && context.core.reason !== reason;
  if (known && !mayPass) return enterBlocked(context, reason, adviceByMethod[known]);
  scheduleRetry(context, reason, retryAfterMs);
}

/** Handles a closed connection. */
export function handleClose(context: StepContext, code: number, text: string): void {
  const { name, client, retryMs } = interpretClose(code, text);
  const reason = name ?? (code === 1006 ? "network" : `close_${code}`);
  if (client === "smaller") rejectLargest(context);
  if (client === "new-token") return enterBlocked(context, reason);
  if (client === "stop") return closeLink(context, reason);
  scheduleRetry(
    context,
    reason,
    retryMs,
    client === "retry-slowly" ? minAttemptAfterRestart : undefined,
  );
}

/** Closes the link permanently and rejects all unconfirmed messages. */
export function closeLink(context: StepContext, reason: string): void {
  dropConnection(context);
  for (const { id } of context.core.outbox)
    addEffect(context, { type: "refused", id, code: "closed" });
  failStops(context, "closed");
  update(context, { outbox: [], parts: [] });
  enterState(context, "closed", reason);
}
