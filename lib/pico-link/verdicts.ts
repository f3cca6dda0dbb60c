import { closeFor } from "../pico-wire/index.ts";
import { delay, slowly } from "./backoff.ts";
import * as timing from "./timing.ts";
import { refuseLargest, unsend } from "./outbox.ts";
import { effect, enter, hasSocket, set, type Run } from "./run.ts";
import type { Refusal } from "./types.ts";

/* What follows when a connection could not be had, or ended. */

const token = "Is the token the same on both sides?";
const header = 'Is the header "Authorization: Bearer <token>"?';
const query = "Is allow_token_query on, if it is in the URL?";
const checks: Readonly<Record<string, string>> = {
  token_mismatch: token,
  token_malformed: header,
  token_query_disabled: query,
  origin_not_allowed: "Does allow_origins list this origin?",
  bad_request: "Are address and session_id right?",
  not_found: "Is the path right, and the channel enabled?",
  upgrade_required: "Does a proxy strip Upgrade?",
};
const byStatus: Readonly<Record<number, string>> = {
  400: "bad_request",
  404: "not_found",
  426: "upgrade_required",
};

/** Leaves the socket, if there is one: whatever it still says is ignored. */
export function leave(run: Run): void {
  const { connection, generation, quietMs } = run.core;
  if (hasSocket(run.core)) effect(run, { type: "drop" });
  unsend(run);
  const quiet = connection && !connection.mode ? run.now - connection.openedAt : 0;
  set(run, {
    connection: undefined,
    generation: generation + 1,
    // A longer silence would have been noticed, had the process not been suspended: it shows nothing.
    quietMs: quietMs + (quiet < timing.hello ? quiet : 0),
  });
}

export function wait(run: Run, reason: string, named?: number, floor?: number): void {
  pause(run, "waiting", reason, delay(run.core, run.random, named, floor));
}

function block(run: Run, reason: string, check = checks[reason]): void {
  pause(run, "blocked", reason, timing.slowRetry, check ?? `${token} ${header} ${query}`);
}

function pause(
  run: Run,
  state: "waiting" | "blocked",
  reason: string,
  ms: number,
  check?: string,
): void {
  leave(run);
  set(run, { attempt: run.core.attempt + 1 });
  enter(run, state, reason, run.now + ms, check);
}

/** The same token is shown twice, never more often, before a person is asked. */
function refused(run: Run, reason: string, named?: number): void {
  const refusals = run.core.refusals + 1;
  set(run, { refusals });
  if (refusals > 1) block(run, reason);
  else wait(run, reason, named);
}

/** The handshake failed. */
export function failed(run: Run, { status, code, retryAfterMs }: Refusal): void {
  const known = status === undefined ? undefined : byStatus[status];
  const reason = code || known || (status === undefined ? "network" : `http_${status}`);
  if (status === 401 || status === 403) return refused(run, reason, retryAfterMs);
  const mayPass = status === 426 && run.core.reason !== reason;
  if (known && !mayPass) return block(run, reason, checks[known]);
  wait(run, reason, retryAfterMs);
}

/** The connection ended with this code. */
export function closed(run: Run, code: number, text: string): void {
  const { name, client, retryMs } = closeFor(code, text);
  const reason = name ?? (code === 1006 ? "network" : `close_${code}`);
  if (client === "smaller") refuseLargest(run);
  if (client === "new-token") return block(run, reason);
  if (client === "stop") return stop(run, reason);
  wait(run, reason, retryMs, client === "retry-slowly" ? slowly : undefined);
}

/** For good: who waits for a message is told. */
export function stop(run: Run, reason: string): void {
  leave(run);
  for (const { id } of run.core.outbox) effect(run, { type: "refused", id, code: "stopped" });
  set(run, { outbox: [], parts: [] });
  enter(run, "stopped", reason);
}
