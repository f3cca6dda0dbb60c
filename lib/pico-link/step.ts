// The logic of the link as one pure function.
import { completeBefore } from "./message-assembly.ts";
import { markAlive, assumePlainServer, receiveFrame } from "./receive.ts";
import * as limits from "./limits.ts";
import { rejectExpired, handleFlush, sendQueued, nextSendAt, enqueue } from "./outbox.ts";
import {
  addEffect,
  enterState,
  hasSocket,
  updateConnection,
  update,
  type StepContext,
} from "./step-context.ts";
import { failAnswers, sendAnswer } from "./questions.ts";
import { ackDeadline, acknowledge } from "./stream.ts";
import { expireStops, nextExpiryAt, requestStop, sendStops } from "./stops.ts";
import type { ConnectionData, LinkData, Effect, LinkEvent } from "./types.ts";
import { handleClose, handleFailure, closeLink, scheduleRetry } from "./retry.ts";

/**
 * Calculates the next state and the effects of an event, without side effects of its own. The
 * caller carries out the effects in order.
 */
export function step(
  linkData: LinkData,
  event: LinkEvent,
  moment: { now: number; random: number; silenceMs?: number | undefined },
): readonly [LinkData, readonly Effect[]] {
  if ("generation" in event && (event.generation !== linkData.generation || !hasSocket(linkData)))
    return [linkData, []];
  const silenceMs = Math.min(moment.silenceMs || limits.messageIdleMs, limits.maxServerDelayMs);
  const context: StepContext = { core: linkData, ...moment, silenceMs, effects: [] };
  handleEvent(context, event);
  failAnswers(context);
  sendQueued(context);
  // Messages that were sent before are repeated first.
  if (context.core.outbox.every(({ sent, attempted }) => sent || !attempted)) {
    sendStops(context);
    sendQueued(context);
  }
  acknowledge(context);
  return [context.core, context.effects];
}

function handleEvent(context: StepContext, event: LinkEvent): void {
  const { state } = context.core;
  switch (event.type) {
    case "start":
      return state === "idle" ? startConnecting(context) : undefined;
    case "close":
      // Another client that continues the conversation must not receive these frames again.
      if (context.core.connection) acknowledge(context, 0);
      return state === "closed" ? undefined : closeLink(context, "closed");
    case "retry":
      update(context, { rejections: 0 });
      return state === "waiting" || state === "blocked" ? startConnecting(context) : undefined;
    case "send":
      return enqueue(context, event);
    case "halt":
      return requestStop(context, event.id, event.requestId);
    case "answer":
      return sendAnswer(context, event.id, event.text);
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
  enterState(context, "connecting", context.core.reason, context.now + limits.connectTimeoutMs);
  update(context, { generation: generation + 1 });
  const resume = cursor && hello ? { cursor, conn: hello.conn_id } : undefined;
  addEffect(context, { type: "connect", generation: generation + 1, resume });
}

function handleOpen(context: StepContext): void {
  const { now, core } = context;
  update(context, {
    rejections: 0,
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
      texts: [],
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

/**
 * The interval and time of the next ping, and the time to close the connection, in milliseconds.
 */
function livenessDeadlines({ hello }: LinkData, { heardAt, pingedAt }: ConnectionData) {
  const dead = Math.min(
    (hello?.read_timeout ?? 0) * 1_000 || limits.idleTimeoutMs,
    limits.maxServerDelayMs,
  );
  const every = Math.min((hello?.ping_interval ?? 0) * 1_000 || limits.pingIntervalMs, dead / 2);
  return {
    every,
    pingAt: Math.max(heardAt, pingedAt) + every,
    deadAt: heardAt + Math.max(dead, every + limits.pongTimeoutMs),
  };
}

/**
 * When silence proves that the server lacks the extension. Several short connections add up. A
 * server that had the extension still has it, so its silence means a broken connection.
 */
const helloDeadline = ({ connection, cursor, quietMs }: LinkData): number =>
  connection && !connection.mode && !cursor
    ? connection.openedAt + limits.helloTimeoutMs - quietMs
    : Infinity;

function handleTimer(context: StepContext): void {
  const late = context.now - nextAt(context.core);
  rejectExpired(context);
  expireStops(context);
  completeBefore(context, context.now);
  const { connection, due, state } = context.core;
  if (connection) return checkLiveness(context, connection, late);
  if (due > context.now) return;
  if (state === "connecting") scheduleRetry(context, "timeout");
  else startConnecting(context);
}

/**
 * Checks whether the server is alive.
 *
 * @param late - How late the timer ran. If this process was suspended, the silence proves nothing,
 * and the server gets another ping before the connection is closed.
 */
function checkLiveness(context: StepContext, connection: ConnectionData, late: number): void {
  const { now } = context;
  const { openedAt, hasSpoken } = connection;
  const { every, pingAt, deadAt } = livenessDeadlines(context.core, connection);
  const slept = late > limits.pongTimeoutMs;
  if (slept) updateConnection(context, { heardAt: now - every });
  else if (deadAt <= now) return scheduleRetry(context, "heartbeat");
  if (pingAt <= now || slept) {
    writeFrame(context, "ping");
    updateConnection(context, { pingedAt: now });
  }
  if (helloDeadline(context.core) <= now) assumePlainServer(context);
  if (hasSpoken && openedAt + limits.stableAfterMs <= now) update(context, { attempt: 0 });
}

/** @returns When `handleTimer` has something to do; `Infinity` if never. */
export function nextAt(linkData: LinkData): number {
  const { connection, due, outbox, parts, attempt } = linkData;
  const times = [
    due,
    nextExpiryAt(linkData),
    outbox[0]?.expiresAt ?? Infinity,
    ...parts.map(({ wholeAt }) => wholeAt),
  ];
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
    if (attempt && hasSpoken) times.push(openedAt + limits.stableAfterMs);
  }
  return Math.min(...times);
}
