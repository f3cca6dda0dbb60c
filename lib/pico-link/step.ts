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
  linkData: LinkData,
  event: LinkEvent,
  moment: { now: number; random: number; silenceMs?: number | undefined },
): readonly [LinkData, readonly Effect[]] {
  if ("generation" in event && (event.generation !== linkData.generation || !hasSocket(linkData)))
    return [linkData, []];
  const silenceMs = Math.min(moment.silenceMs || timing.messageIdleMs, timing.maxServerDelayMs);
  const context: StepContext = { core: linkData, ...moment, silenceMs, effects: [] };
  handleEvent(context, event);
  sendQueued(context);
  acknowledge(context);
  return [context.core, context.effects];
}

function handleEvent(context: StepContext, event: LinkEvent): void {
  const { state } = context.core;
  switch (event.type) {
    case "start":
      return state === "idle" ? startConnecting(context) : undefined;
    case "stop":
      if (context.core.connection) acknowledge(context, 0); // who goes on with the conversation must not hear it again
      return state === "stopped" ? undefined : stopLink(context, "stopped");
    case "retry":
      update(context, { refusals: 0 });
      return state === "waiting" || state === "blocked" ? startConnecting(context) : undefined;
    case "send":
      return enqueue(context, event);
    case "typing":
      return sendTyping(context, event.on);
    case "opened":
      return handleOpen(context);
    case "heard":
      return markAlive(context);
    case "flushed":
      return handleFlush(context);
    case "frame":
      return receiveFrame(context, event.frame);
    case "failed":
      return handleFailure(context, event);
    case "closed":
      return handleClose(context, event.code, event.reason);
    case "tick":
      return handleTimer(context);
  }
}

function startConnecting(context: StepContext): void {
  const { generation, cursor, hello } = context.core;
  enterState(context, "connecting", context.core.reason, context.now + timing.connectTimeoutMs);
  update(context, { generation: generation + 1 });
  const resume = cursor && hello ? { cursor, conn: hello.conn_id } : undefined;
  addEffect(context, { type: "connect", generation: generation + 1, resume });
}

function handleOpen(context: StepContext): void {
  const { now, core } = context;
  update(context, {
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
  enterState(context, "open", "");
}

const writeFrame = (context: StepContext, type: string): void =>
  addEffect(context, { type: "write", text: JSON.stringify({ type }) });

function sendTyping(context: StepContext, on: boolean): void {
  if (context.core.connection && !context.core.isTypingUnknown)
    writeFrame(context, on ? "typing.start" : "typing.stop");
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

function handleTimer(context: StepContext): void {
  const late = context.now - nextAt(context.core);
  rejectExpired(context);
  completeBefore(context, context.now);
  const { connection, due, state } = context.core;
  if (connection) return checkLiveness(context, connection, late);
  if (due > context.now) return;
  if (state === "connecting") scheduleRetry(context, "timeout");
  else startConnecting(context);
}

/** `late`: this process slept. That says nothing about the peer, which is asked again before it is given up. */
function checkLiveness(context: StepContext, connection: ConnectionData, late: number): void {
  const { now } = context;
  const { openedAt, hasSpoken } = connection;
  const { every, pingAt, deadAt } = livenessDeadlines(context.core, connection);
  const slept = late > timing.pongTimeoutMs;
  if (slept) updateConnection(context, { heardAt: now - every });
  else if (deadAt <= now) return scheduleRetry(context, "heartbeat");
  if (pingAt <= now || slept) {
    writeFrame(context, "ping");
    updateConnection(context, { pingedAt: now });
  }
  if (helloDeadline(context.core) <= now) assumePlainServer(context);
  if (hasSpoken && openedAt + timing.stableAfterMs <= now) update(context, { attempt: 0 });
}

/** When `handleTimer` has something to do; `Infinity`: never. */
export function nextAt(linkData: LinkData): number {
  const { connection, due, outbox, parts, attempt } = linkData;
  const times = [due, outbox[0]?.expiresAt ?? Infinity, ...parts.map(({ wholeAt }) => wholeAt)];
  if (connection) {
    const { pingAt, deadAt } = livenessDeadlines(linkData, connection);
    const { openedAt, hasSpoken } = connection;
    times.push(
      pingAt,
      deadAt,
      ackDeadline(linkData),
      nextSendAt(linkData),
      helloDeadline(linkData),
    );
    if (attempt && hasSpoken) times.push(openedAt + timing.stableAfterMs);
  }
  return Math.min(...times);
}
