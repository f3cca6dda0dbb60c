import type {
  ConnectionData,
  LinkData,
  Effect,
  LinkNotifications,
  LinkState,
  NotifyEffect,
} from "./types.ts";

/** One step under way: the state so far, and what the world is asked to do. */
export interface StepContext {
  core: LinkData;
  readonly now: number;
  /** From 0 up to, but without, 1. */
  readonly random: number;
  /** Milliseconds after which an unmarked message is assumed to be complete. */
  readonly silenceMs: number;
  readonly effects: Effect[];
}

export const initialData: LinkData = {
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
export const hasSocket = ({ state }: LinkData): boolean =>
  state === "open" || state === "connecting";

export const update = (context: StepContext, change: Partial<LinkData>): void =>
  void (context.core = { ...context.core, ...change });

export const addEffect = (context: StepContext, effect: Effect): void =>
  void context.effects.push(effect);

export const notify = <K extends keyof LinkNotifications>(
  context: StepContext,
  handler: K,
  news: LinkNotifications[K],
): void => addEffect(context, { type: "tell", handler, news } as NotifyEffect);

/** Changes what is known of the connection, if there is one. */
export function updateConnection(context: StepContext, change: Partial<ConnectionData>): void {
  if (context.core.connection)
    update(context, { connection: { ...context.core.connection, ...change } });
}

export function enterState(
  context: StepContext,
  state: LinkState,
  reason: string,
  due = Infinity,
  check?: string,
): void {
  const { state: from, attempt } = context.core;
  update(context, { state, reason, due });
  const retryInMs = due < Infinity && state !== "connecting" && { retryInMs: due - context.now };
  notify(context, "onState", {
    from,
    to: state,
    attempt,
    reason,
    ...(check && { check }),
    ...retryInMs,
  });
}
