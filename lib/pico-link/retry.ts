import { interpretClose } from "../pico-wire/index.ts";
import * as timing from "./limits.ts";
import { markAllUnsent, rejectLargest } from "./outbox.ts";
import { addEffect, enterState, hasSocket, update, type StepContext } from "./step-context.ts";
import type { HandshakeRejection, LinkData } from "./types.ts";

/** Going away is said by servers that stop: the first tries after it are as rare as the fourth otherwise. */
export const minAttemptAfterRestart = 3;

/** Milliseconds to the next try. Full jitter between the least wait and a bound that doubles with every failure. A wait
 *  the server named (milliseconds) is kept to, and spread a little so that not everybody returns at once. `floor`: the
 *  failures to assume when there were fewer. */
export function retryDelay(
  { attempt, hello }: LinkData,
  random: number,
  named?: number,
  floor = 0,
): number {
  const least = hello?.retry.min || timing.minRetryMs;
  const most = Math.max(least, hello?.retry.max || timing.maxRetryMs);
  const bound = Math.min(most, least * 2 ** (Math.max(attempt, floor) + 1));
  const spread = named === undefined ? bound - least : least;
  return Math.round(
    Math.min(named ?? least, timing.maxServerDelayMs) +
      random * Math.min(spread, timing.maxServerDelayMs),
  );
}

/* What follows when a connection could not be had, or ended. */

const token = "Is the token the same on both sides?";
const header = 'Is the header "Authorization: Bearer <token>"?';
const query = "Is allow_token_query on, if it is in the URL?";
const adviceByMethod: Readonly<Record<string, string>> = {
  token_mismatch: token,
  token_malformed: header,
  token_query_disabled: query,
  origin_not_allowed: "Does allow_origins list this origin?",
  bad_request: "Are address and session_id right?",
  not_found: "Is the path right, and the channel enabled?",
  upgrade_required: "Does a proxy strip Upgrade?",
};
const codeByStatus: Readonly<Record<number, string>> = {
  400: "bad_request",
  404: "not_found",
  426: "upgrade_required",
};

/** Leaves the socket, if there is one: whatever it still says is ignored. */
export function dropConnection(context: StepContext): void {
  const { connection, generation, quietMs } = context.core;
  if (hasSocket(context.core)) addEffect(context, { type: "drop" });
  markAllUnsent(context);
  const quiet = connection && !connection.mode ? context.now - connection.openedAt : 0;
  update(context, {
    connection: undefined,
    generation: generation + 1,
    // A longer silence would have been noticed, had the process not been suspended: it shows nothing.
    quietMs: quietMs + (quiet < timing.helloTimeoutMs ? quiet : 0),
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
    timing.blockedRetryMs,
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

/** The same token is shown twice, never more often, before a person is asked. */
function handleRejection(context: StepContext, reason: string, named?: number): void {
  const refusals = context.core.refusals + 1;
  update(context, { refusals });
  if (refusals > 1) enterBlocked(context, reason);
  else scheduleRetry(context, reason, named);
}

/** The handshake failed. */
export function handleFailure(
  context: StepContext,
  { status, code, retryAfterMs }: HandshakeRejection,
): void {
  const known = status === undefined ? undefined : codeByStatus[status];
  const reason = code || known || (status === undefined ? "network" : `http_${status}`);
  if (status === 401 || status === 403) return handleRejection(context, reason, retryAfterMs);
  const mayPass = status === 426 && context.core.reason !== reason;
  if (known && !mayPass) return enterBlocked(context, reason, adviceByMethod[known]);
  scheduleRetry(context, reason, retryAfterMs);
}

/** The connection ended with this code. */
export function handleClose(context: StepContext, code: number, text: string): void {
  const { name, client, retryMs } = interpretClose(code, text);
  const reason = name ?? (code === 1006 ? "network" : `close_${code}`);
  if (client === "smaller") rejectLargest(context);
  if (client === "new-token") return enterBlocked(context, reason);
  if (client === "stop") return stopLink(context, reason);
  scheduleRetry(
    context,
    reason,
    retryMs,
    client === "retry-slowly" ? minAttemptAfterRestart : undefined,
  );
}

/** For good: who waits for a message is told. */
export function stopLink(context: StepContext, reason: string): void {
  dropConnection(context);
  for (const { id } of context.core.outbox)
    addEffect(context, { type: "refused", id, code: "stopped" });
  update(context, { outbox: [], parts: [] });
  enterState(context, "stopped", reason);
}
