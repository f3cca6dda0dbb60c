import { completeBefore } from "./message-assembly.ts";
import { markAlive, assumePlainServer, receiveFrame } from "./receive.ts";
import * as timing from "./limits.ts";
import { rejectExpired, handleFlush, sendQueued, nextSendAt, enqueue } from "./outbox.ts";
import {
  addEffect,
  enterState,
  hasSocket,
  updateConnection,
  update,
  type StepContext,
} from "./step-context.ts";
import { ackDeadline, acknowledge } from "./stream.ts";
import type { ConnectionData, LinkData, Effect, LinkEvent } from "./types.ts";
import { handleClose, handleFailure, stopLink, scheduleRetry } from "./retry.ts";

/** The whole link as one function: it changes nothing and asks nothing. `effects` are to be carried out in order. */
export function step(
  core: LinkData,
  event: LinkEvent,
  moment: { now: number; random: number; silenceMs?: number | undefined },
): readonly [LinkData, readonly Effect[]] {
  if ("generation" in event && (event.generation !== core.generation || !hasSocket(core)))
    return [core, []];
  const silenceMs = Math.min(moment.silenceMs || timing.messageIdleMs, timing.maxServerDelayMs);
  const run: StepContext = { core, ...moment, silenceMs, effects: [] };
  handleEvent(run, event);
  sendQueued(run);
  acknowledge(run);
  return [run.core, run.effects];
}

function handleEvent(run: StepContext, event: LinkEvent): void {
  const { state } = run.core;
  switch (event.type) {
    case "start":
      return state === "idle" ? startConnecting(run) : undefined;
    case "stop":
      if (run.core.connection) acknowledge(run, 0); // who goes on with the conversation must not hear it again
      return state === "stopped" ? undefined : stopLink(run, "stopped");
    case "retry":
      update(run, { refusals: 0 });
      return state === "waiting" || state === "blocked" ? startConnecting(run) : undefined;
    case "send":
      return enqueue(run, event);
    case "typing":
      return sendTyping(run, event.on);
    case "opened":
      return handleOpen(run);
    case "heard":
      return markAlive(run);
    case "flushed":
      return handleFlush(run);
    case "frame":
      return receiveFrame(run, event.frame);
    case "failed":
      return handleFailure(run, event);
    case "closed":
      return handleClose(run, event.code, event.reason);
    case "tick":
      return handleTimer(run);
  }
}

function startConnecting(run: StepContext): void {
  const { generation, cursor, hello } = run.core;
  enterState(run, "connecting", run.core.reason, run.now + timing.connectTimeoutMs);
  update(run, { generation: generation + 1 });
  const resume = cursor && hello ? { cursor, conn: hello.conn_id } : undefined;
  addEffect(run, { type: "connect", generation: generation + 1, resume });
}

function handleOpen(run: StepContext): void {
  const { now, core } = run;
  update(run, {
    refusals: 0,
    connection: {
      mode: core.isPlain ? "plain" : undefined,
      openedAt: now,
      heardAt: now,
      pingedAt: now,
      ackedAt: now,
      paceAt: now,
      hasSpoken: false,
      epochIsOver: false,
      unacked: 0,
    },
  });
  enterState(run, "open", "");
}

const writeFrame = (run: StepContext, type: string): void =>
  addEffect(run, { type: "write", text: JSON.stringify({ type }) });

function sendTyping(run: StepContext, on: boolean): void {
  if (run.core.connection && !run.core.isTypingUnknown)
    writeFrame(run, on ? "typing.start" : "typing.stop");
}

/** Times of a connection, milliseconds: how often and when to ask for a sign of life, and when to give up. */
function livenessDeadlines({ hello }: LinkData, { heardAt, pingedAt }: ConnectionData) {
  const dead = Math.min(
    (hello?.read_timeout ?? 0) * 1_000 || timing.idleTimeoutMs,
    timing.maxServerDelayMs,
  );
  const every = Math.min((hello?.ping_interval ?? 0) * 1_000 || timing.pingIntervalMs, dead / 2);
  return {
    every,
    pingAt: Math.max(heardAt, pingedAt) + every,
    deadAt: heardAt + Math.max(dead, every + timing.pongTimeoutMs),
  };
}

/** When silence shows that the server lacks the extension. Short connections add up. A server that had the extension
 *  still has it: there, silence means a dead line. */
const helloDeadline = ({ connection, cursor, quietMs }: LinkData): number =>
  connection && !connection.mode && !cursor
    ? connection.openedAt + timing.helloTimeoutMs - quietMs
    : Infinity;

function handleTimer(run: StepContext): void {
  const late = run.now - nextAt(run.core);
  rejectExpired(run);
  completeBefore(run, run.now);
  const { connection, due, state } = run.core;
  if (connection) return checkLiveness(run, connection, late);
  if (due > run.now) return;
  if (state === "connecting") scheduleRetry(run, "timeout");
  else startConnecting(run);
}

/** `late`: this process slept. That says nothing about the peer, which is asked again before it is given up. */
function checkLiveness(run: StepContext, connection: ConnectionData, late: number): void {
  const { now } = run;
  const { openedAt, hasSpoken } = connection;
  const { every, pingAt, deadAt } = livenessDeadlines(run.core, connection);
  const slept = late > timing.pongTimeoutMs;
  if (slept) updateConnection(run, { heardAt: now - every });
  else if (deadAt <= now) return scheduleRetry(run, "heartbeat");
  if (pingAt <= now || slept) {
    writeFrame(run, "ping");
    updateConnection(run, { pingedAt: now });
  }
  if (helloDeadline(run.core) <= now) assumePlainServer(run);
  if (hasSpoken && openedAt + timing.stableAfterMs <= now) update(run, { attempt: 0 });
}

/** When `handleTimer` has something to do; `Infinity`: never. */
export function nextAt(core: LinkData): number {
  const { connection, due, outbox, parts, attempt } = core;
  const times = [due, outbox[0]?.expiresAt ?? Infinity, ...parts.map(({ wholeAt }) => wholeAt)];
  if (connection) {
    const { pingAt, deadAt } = livenessDeadlines(core, connection);
    const { openedAt, hasSpoken } = connection;
    times.push(pingAt, deadAt, ackDeadline(core), nextSendAt(core), helloDeadline(core));
    if (attempt && hasSpoken) times.push(openedAt + timing.stableAfterMs);
  }
  return Math.min(...times);
}
