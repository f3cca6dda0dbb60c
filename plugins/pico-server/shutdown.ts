import type { Log } from "../../kernel/index.ts";
import type { PicoServerConfig } from "./config.ts";
import type { ConnectionRegistry, Peer } from "./connection/registry.ts";

/** How often it is looked at who goes next. */
const drainStepMs = 20;
/** What a peer gets to answer its close, and the listeners to finish, out of the time for the whole stop. */
const reservedStopMs = 1_800;
/** From the last close to the service that comes after: nobody returns earlier. */
const minRestartMs = 1_500;

/** Says good-bye to all clients such that they come back at a rate the next process can take. */
export interface Shutdown {
  /** Seconds until somebody may come back who was turned away; undefined before the stop. */
  retryAfterSeconds(): number | undefined;
  /** Closes everybody, one after the other; who has a message with the application, or an answer on its way, goes when
   *  that is done or the time is up. Resolves when all have been told. `stopMs`: what the whole stop may take. */
  run(stopMs: number): Promise<void>;
}

export interface ShutdownOptions {
  readonly connections: Pick<ConnectionRegistry, "list" | "close">;
  readonly config: () => Pick<PicoServerConfig, "drain_timeout" | "reconnect_rate">;
  /** The application has messages of this channel. */
  readonly isBusy: () => boolean;
  readonly log: Log;
}

interface ShutdownPlan {
  /** In the order they go. */
  readonly links: readonly Peer[];
  /** Over which those go who are not busy. */
  readonly windowMs: number;
  /** When the busy go too. */
  readonly limitMs: number;
  /** Clients that may return. */
  readonly perMs: number;
}

export function createShutdown({ connections, config, isBusy, log }: ShutdownOptions): Shutdown {
  let startedAt = 0;
  let plan: ShutdownPlan | undefined;
  let turnedAway = 0;
  const elapsed = (): number => performance.now() - startedAt;

  function makePlan(stopMs: number): ShutdownPlan {
    const links = [...connections.list()];
    const { drain_timeout, reconnect_rate } = config();
    const limitMs = Math.max(0, Math.min(drain_timeout * 1_000, stopMs - reservedStopMs));
    const perMs = reconnect_rate / 1_000;
    return { links, limitMs, perMs, windowMs: Math.min(limitMs, links.length / perMs) };
  }

  /** Milliseconds from now to the place that is kept for the client of this number. */
  const backIn = ({ windowMs, perMs }: ShutdownPlan, number: number): number =>
    Math.max(minRestartMs, windowMs + minRestartMs + number / perMs - elapsed());

  /** Those whose turn has come and who are not busy. Answers who is left. */
  function closeNext(own: ShutdownPlan, waiting: readonly number[], upTo: number): number[] {
    const isOver = elapsed() >= own.limitMs;
    return waiting.filter((number) => {
      const peer = own.links[number]!;
      if (!isOver && (number >= upTo || peer.isBusy())) return true;
      peer.close("going_away", backIn(own, number));
      return false;
    });
  }

  return {
    retryAfterSeconds() {
      if (!plan) return undefined;
      turnedAway += 1;
      return Math.ceil(backIn(plan, plan.links.length + turnedAway) / 1_000);
    },

    async run(stopMs) {
      startedAt = performance.now();
      turnedAway = 0;
      const own = (plan = makePlan(stopMs));
      const { links, windowMs, limitMs } = own;
      if (links.length > 0)
        log.info({ connections: links.length, seconds: windowMs / 1_000 }, "clients are sent away");
      let waiting = links.map((_, number) => number);
      for (;;) {
        const share = windowMs < drainStepMs ? 1 : elapsed() / windowMs;
        waiting = closeNext(own, waiting, Math.ceil(share * links.length));
        const isDone = waiting.length === 0 && !isBusy();
        if (isDone || elapsed() >= limitMs) break;
        await new Promise((resolve) => setTimeout(resolve, drainStepMs));
      }
      connections.close("going_away"); // who slipped in while the first were told
    },
  };
}
