// Closes all clients in order, so that they reconnect at a rate the next process can handle.
import type { Log } from "../../kernel/index.ts";
import type { ChannelHandle } from "../channels/index.ts";
import type { PicoServerConfig } from "./config.ts";
import type { ConnectionRegistry, Peer } from "./connection/registry.ts";

/** Interval between two rounds of closing. */
const drainStepMs = 20;
/** Time to store the texts that were cut, and to send them. */
const cutMs = 50;
/**
 * Time from the last close until the next process accepts connections. No client reconnects
 * earlier.
 */
const minRestartMs = 1_500;

/** Closes all clients when the service stops. */
export interface Shutdown {
  /**
   * @returns Seconds until a client that connects during the stop may try again; undefined before
   *   the stop.
   */
  retryAfterSeconds(): number | undefined;
  /**
   * Closes the clients one after the other. A client with a message at the application or frames in
   * its queue is closed when it is idle or the time is over. Resolves after all close frames were
   * sent.
   * @param stopMs - Milliseconds that the whole stop may take.
   */
  run(stopMs: number): Promise<void>;
}

interface ShutdownOptions {
  readonly connections: Pick<ConnectionRegistry, "list" | "close">;
  readonly config: () => Pick<PicoServerConfig, "reconnect_rate">;
  readonly stopTimes: ChannelHandle["stopTimes"];
  /** True while the application processes messages of this channel. */
  readonly isBusy: () => boolean;
  readonly log: Log;
}

interface ShutdownPlan {
  /** Connections in the order of closing. */
  readonly peers: readonly Peer[];
  /** Idle clients are closed over this time. */
  readonly windowMs: number;
  /** After this time, busy clients are closed too. The answers were cut shortly before. */
  limitMs: number;
  /** Busy clients wait no longer for answers that a busy process cuts late. */
  readonly maxLimitMs: number;
  /** Clients that may reconnect per millisecond. */
  readonly perMs: number;
}

export function createShutdown({
  connections,
  config,
  stopTimes,
  isBusy,
  log,
}: ShutdownOptions): Shutdown {
  let startedAt = 0;
  let plan: ShutdownPlan | undefined;
  let rejectedCount = 0;
  const elapsed = (): number => performance.now() - startedAt;

  function makePlan(stopMs: number): ShutdownPlan {
    const peers = [...connections.list()];
    const { reconnect_rate } = config();
    const { answerMs, graceMs } = stopTimes(stopMs);
    const perMs = reconnect_rate / 1_000;
    const windowMs = Math.min(answerMs, peers.length / perMs);
    const limitMs = answerMs + graceMs + cutMs;
    return { peers, limitMs, maxLimitMs: Math.max(limitMs, stopMs - graceMs), perMs, windowMs };
  }

  /** Milliseconds from now until the client with this number may reconnect. */
  const reconnectInMs = ({ windowMs, perMs }: ShutdownPlan, number: number): number =>
    Math.max(minRestartMs, windowMs + minRestartMs + number / perMs - elapsed());

  /** The last frames follow the end of the answers, which have timers of their own. */
  function isOver(current: ShutdownPlan): boolean {
    if (isBusy()) current.limitMs = Math.max(current.limitMs, elapsed() + cutMs);
    return elapsed() >= Math.min(current.limitMs, current.maxLimitMs);
  }

  /** Closes the idle clients whose turn has come. Returns the numbers of the remaining ones. */
  function closeNext(current: ShutdownPlan, waiting: readonly number[], upTo: number): number[] {
    const isLast = isOver(current);
    return waiting.filter((number) => {
      const peer = current.peers[number]!;
      if (!isLast && (number >= upTo || peer.isBusy())) return true;
      peer.close("going_away", reconnectInMs(current, number));
      return false;
    });
  }

  return {
    retryAfterSeconds() {
      if (!plan) return undefined;
      rejectedCount += 1;
      return Math.ceil(reconnectInMs(plan, plan.peers.length + rejectedCount) / 1_000);
    },

    async run(stopMs) {
      startedAt = performance.now();
      rejectedCount = 0;
      const current = (plan = makePlan(stopMs));
      const { peers, windowMs } = current;
      if (peers.length > 0)
        log.info({ connections: peers.length, seconds: windowMs / 1_000 }, "Closing clients");
      let waiting = peers.map((_, number) => number);
      for (;;) {
        const share = windowMs < drainStepMs ? 1 : elapsed() / windowMs;
        waiting = closeNext(current, waiting, Math.ceil(share * peers.length));
        const isDone = waiting.length === 0 && !isBusy();
        if (isDone || isOver(current)) break;
        await new Promise((resolve) => setTimeout(resolve, drainStepMs));
      }
      connections.close("going_away"); // clients that connected during the first closes
    },
  };
}
