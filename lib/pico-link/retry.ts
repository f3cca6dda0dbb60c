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
export function dropConnection(run: StepContext): void {
  const { connection, generation, quietMs } = run.core;
  if (hasSocket(run.core)) addEffect(run, { type: "drop" });
  markAllUnsent(run);
  const quiet = connection && !connection.mode ? run.now - connection.openedAt : 0;
  update(run, {
    connection: undefined,
    generation: generation + 1,
    // A longer silence would have been noticed, had the process not been suspended: it shows nothing.
    quietMs: quietMs + (quiet < timing.helloTimeoutMs ? quiet : 0),
  });
}

export function scheduleRetry(
  run: StepContext,
  reason: string,
  named?: number,
  floor?: number,
): void {
  waitFor(run, "waiting", reason, retryDelay(run.core, run.random, named, floor));
}

function enterBlocked(run: StepContext, reason: string, check = adviceByMethod[reason]): void {
  waitFor(run, "blocked", reason, timing.blockedRetryMs, check ?? `${token} ${header} ${query}`);
}

function waitFor(
  run: StepContext,
  state: "waiting" | "blocked",
  reason: string,
  ms: number,
  check?: string,
): void {
  dropConnection(run);
  update(run, { attempt: run.core.attempt + 1 });
  enterState(run, state, reason, run.now + ms, check);
}

/** The same token is shown twice, never more often, before a person is asked. */
function handleRejection(run: StepContext, reason: string, named?: number): void {
  const refusals = run.core.refusals + 1;
  update(run, { refusals });
  if (refusals > 1) enterBlocked(run, reason);
  else scheduleRetry(run, reason, named);
}

/** The handshake failed. */
export function handleFailure(
  run: StepContext,
  { status, code, retryAfterMs }: HandshakeRejection,
): void {
  const known = status === undefined ? undefined : codeByStatus[status];
  const reason = code || known || (status === undefined ? "network" : `http_${status}`);
  if (status === 401 || status === 403) return handleRejection(run, reason, retryAfterMs);
  const mayPass = status === 426 && run.core.reason !== reason;
  if (known && !mayPass) return enterBlocked(run, reason, adviceByMethod[known]);
  scheduleRetry(run, reason, retryAfterMs);
}

/** The connection ended with this code. */
export function handleClose(run: StepContext, code: number, text: string): void {
  const { name, client, retryMs } = interpretClose(code, text);
  const reason = name ?? (code === 1006 ? "network" : `close_${code}`);
  if (client === "smaller") rejectLargest(run);
  if (client === "new-token") return enterBlocked(run, reason);
  if (client === "stop") return stopLink(run, reason);
  scheduleRetry(
    run,
    reason,
    retryMs,
    client === "retry-slowly" ? minAttemptAfterRestart : undefined,
  );
}

/** For good: who waits for a message is told. */
export function stopLink(run: StepContext, reason: string): void {
  dropConnection(run);
  for (const { id } of run.core.outbox) addEffect(run, { type: "refused", id, code: "stopped" });
  update(run, { outbox: [], parts: [] });
  enterState(run, "stopped", reason);
}
