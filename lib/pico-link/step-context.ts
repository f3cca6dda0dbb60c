// The state during one step, and the functions that change it.
import type {
  ConnectionData,
  LinkData,
  Effect,
  ChatNotifications,
  ChatState,
  NotifyEffect,
} from "./types.ts";

/** The data of a step: the state so far, and the effects to carry out. */
export interface StepContext {
  core: LinkData;
  readonly now: number;
  /** At least 0 and less than 1. */
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
  rejections: 0,
  due: Infinity,
  outbox: [],
  parts: [],
  stops: [],
  asked: [],
  answers: [],
  ownIds: [],
  completedIds: [],
  isPlain: false,
  quietMs: 0,
  isTypingUnknown: false,
};

/** Whether there is a socket that can report events. */
export const hasSocket = ({ state }: LinkData): boolean =>
  state === "open" || state === "connecting";

export const update = (context: StepContext, change: Partial<LinkData>): void =>
  void (context.core = { ...context.core, ...change });

export const addEffect = (context: StepContext, effect: Effect): void =>
  void context.effects.push(effect);

export const notify = <K extends keyof ChatNotifications>(
  context: StepContext,
  handler: K,
  payload: ChatNotifications[K],
): void => addEffect(context, { type: "notify", handler, payload } as NotifyEffect);

/** Updates the data of the connection, if there is one. */
export function updateConnection(context: StepContext, change: Partial<ConnectionData>): void {
  if (context.core.connection)
    update(context, { connection: { ...context.core.connection, ...change } });
}

export function enterState(
  context: StepContext,
  state: ChatState,
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
