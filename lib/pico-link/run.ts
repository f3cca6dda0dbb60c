import type { Connection, Core, Effect, LinkNews, LinkState, Tell } from "./types.ts";

/** One step under way: the state so far, and what the world is asked to do. */
export interface Run {
  core: Core;
  readonly now: number;
  /** From 0 up to, but without, 1. */
  readonly random: number;
  /** Milliseconds after which an unmarked message is assumed to be complete. */
  readonly silenceMs: number;
  readonly effects: Effect[];
}

export const initial: Core = {
  state: "idle",
  reason: "",
  generation: 0,
  attempt: 0,
  refusals: 0,
  due: Infinity,
  outbox: [],
  parts: [],
  told: [],
  isPlain: false,
  quietMs: 0,
  isTypingUnknown: false,
};

/** There is one that says something, or will. */
export const hasSocket = ({ state }: Core): boolean => state === "open" || state === "connecting";

export const set = (run: Run, change: Partial<Core>): void =>
  void (run.core = { ...run.core, ...change });

export const effect = (run: Run, effect: Effect): void => void run.effects.push(effect);

export const tell = <K extends keyof LinkNews>(run: Run, handler: K, news: LinkNews[K]): void =>
  effect(run, { type: "tell", handler, news } as Tell);

/** Changes what is known of the connection, if there is one. */
export function note(run: Run, change: Partial<Connection>): void {
  if (run.core.connection) set(run, { connection: { ...run.core.connection, ...change } });
}

export function enter(
  run: Run,
  state: LinkState,
  reason: string,
  due = Infinity,
  check?: string,
): void {
  const { state: from, attempt } = run.core;
  set(run, { state, reason, due });
  const retryInMs = due < Infinity && state !== "connecting" && { retryInMs: due - run.now };
  tell(run, "onState", { from, to: state, attempt, reason, ...(check && { check }), ...retryInMs });
}
