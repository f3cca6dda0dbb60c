import { complete } from "./assembly.ts";
import { heard, isPlain, receive } from "./frames.ts";
import * as timing from "./timing.ts";
import { expire, flushed, pump, pumpAt, put } from "./outbox.ts";
import { effect, enter, hasSocket, note, set, type Run } from "./run.ts";
import { ackAt, acknowledge } from "./stream.ts";
import type { Connection, Core, Effect, LinkEvent } from "./types.ts";
import { closed, failed, stop, wait } from "./verdicts.ts";

/** The whole link as one function: it changes nothing and asks nothing. `effects` are to be carried out in order. */
export function step(
  core: Core,
  event: LinkEvent,
  moment: { now: number; random: number; silenceMs?: number | undefined },
): readonly [Core, readonly Effect[]] {
  if ("generation" in event && (event.generation !== core.generation || !hasSocket(core)))
    return [core, []];
  const silenceMs = Math.min(moment.silenceMs || timing.silence, timing.longestRetry);
  const run: Run = { core, ...moment, silenceMs, effects: [] };
  take(run, event);
  pump(run);
  acknowledge(run);
  return [run.core, run.effects];
}

function take(run: Run, event: LinkEvent): void {
  const { state } = run.core;
  switch (event.type) {
    case "start":
      return state === "idle" ? connect(run) : undefined;
    case "stop":
      if (run.core.connection) acknowledge(run, 0); // who goes on with the conversation must not hear it again
      return state === "stopped" ? undefined : stop(run, "stopped");
    case "retry":
      set(run, { refusals: 0 });
      return state === "waiting" || state === "blocked" ? connect(run) : undefined;
    case "send":
      return put(run, event);
    case "typing":
      return typing(run, event.on);
    case "opened":
      return opened(run);
    case "heard":
      return heard(run);
    case "flushed":
      return flushed(run);
    case "frame":
      return receive(run, event.frame);
    case "failed":
      return failed(run, event);
    case "closed":
      return closed(run, event.code, event.reason);
    case "tick":
      return tick(run);
  }
}

function connect(run: Run): void {
  const { generation, cursor, hello } = run.core;
  enter(run, "connecting", run.core.reason, run.now + timing.connect);
  set(run, { generation: generation + 1 });
  const resume = cursor && hello ? { cursor, conn: hello.conn_id } : undefined;
  effect(run, { type: "connect", generation: generation + 1, resume });
}

function opened(run: Run): void {
  const { now, core } = run;
  set(run, {
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
  enter(run, "open", "");
}

const write = (run: Run, type: string): void =>
  effect(run, { type: "write", text: JSON.stringify({ type }) });

function typing(run: Run, on: boolean): void {
  if (run.core.connection && !run.core.isTypingUnknown)
    write(run, on ? "typing.start" : "typing.stop");
}

/** Times of a connection, milliseconds: how often and when to ask for a sign of life, and when to give up. */
function life({ hello }: Core, { heardAt, pingedAt }: Connection) {
  const dead = Math.min((hello?.read_timeout ?? 0) * 1_000 || timing.dead, timing.longestRetry);
  const every = Math.min((hello?.ping_interval ?? 0) * 1_000 || timing.ping, dead / 2);
  return {
    every,
    pingAt: Math.max(heardAt, pingedAt) + every,
    deadAt: heardAt + Math.max(dead, every + timing.grace),
  };
}

/** When silence shows that the server lacks the extension. Short connections add up. A server that had the extension
 *  still has it: there, silence means a dead line. */
const helloBy = ({ connection, cursor, quietMs }: Core): number =>
  connection && !connection.mode && !cursor
    ? connection.openedAt + timing.hello - quietMs
    : Infinity;

function tick(run: Run): void {
  const late = run.now - nextAt(run.core);
  expire(run);
  complete(run, run.now);
  const { connection, due, state } = run.core;
  if (connection) return watch(run, connection, late);
  if (due > run.now) return;
  if (state === "connecting") wait(run, "timeout");
  else connect(run);
}

/** `late`: this process slept. That says nothing about the peer, which is asked again before it is given up. */
function watch(run: Run, connection: Connection, late: number): void {
  const { now } = run;
  const { openedAt, hasSpoken } = connection;
  const { every, pingAt, deadAt } = life(run.core, connection);
  const slept = late > timing.grace;
  if (slept) note(run, { heardAt: now - every });
  else if (deadAt <= now) return wait(run, "heartbeat");
  if (pingAt <= now || slept) {
    write(run, "ping");
    note(run, { pingedAt: now });
  }
  if (helloBy(run.core) <= now) isPlain(run);
  if (hasSpoken && openedAt + timing.steady <= now) set(run, { attempt: 0 });
}

/** When `tick` has something to do; `Infinity`: never. */
export function nextAt(core: Core): number {
  const { connection, due, outbox, parts, attempt } = core;
  const times = [due, outbox[0]?.expiresAt ?? Infinity, ...parts.map(({ wholeAt }) => wholeAt)];
  if (connection) {
    const { pingAt, deadAt } = life(core, connection);
    const { openedAt, hasSpoken } = connection;
    times.push(pingAt, deadAt, ackAt(core), pumpAt(core), helloBy(core));
    if (attempt && hasSpoken) times.push(openedAt + timing.steady);
  }
  return Math.min(...times);
}
