// Runs the pure steps of a link on sockets and timers.
import { decodeServer, encodeUtf8, type ReceivedFrame } from "../pico-wire/index.ts";
import { dialUrl, httpUrl, type OpenSocket, type SocketListener } from "./dial.ts";
import { chatCode, chatError } from "./errors.ts";
import { initialData } from "./step-context.ts";
import { nextAt, step } from "./step.ts";
import type {
  Clock,
  Driver,
  Effect,
  Link,
  LinkData,
  LinkEvent,
  LinkOptions,
  ChatOutgoing,
  ChatReceipt,
  SocketEvent,
} from "./types.ts";

/**
 * Runs the steps one after the other. An event that an effect causes waits until the earlier
 * effects are done.
 */
const sequentialDriver: Driver = ({ initial, step, perform }) => {
  let linkData = initial;
  let isRunning = false;
  const queue: LinkEvent[] = [];
  return {
    core: () => linkData,
    send(event) {
      queue.push(event);
      if (isRunning) return;
      isRunning = true;
      for (let next = queue.shift(); next; next = queue.shift()) {
        const [after, effects] = step(linkData, next);
        linkData = after;
        perform(effects, linkData);
      }
      isRunning = false;
    },
  };
};

/**
 * Reads a clock so that the time never goes back. Otherwise, after the system time was set back,
 * the next attempt to connect would wait until the old time is reached again. Steps forward count,
 * because the process may have been suspended.
 *
 * @returns A function that returns the time. Its parameter `least` is a time that has certainly
 * been reached, such as the time of the timer that has just fired.
 */
export function forwardOnlyClock(clock: Clock): (least?: number) => number {
  let latest = 0;
  let setBack = 0;
  return (least = 0) => {
    const time = clock.now();
    setBack = Math.max(setBack, latest - time, least - time);
    return (latest = time + setBack);
  };
}

/**
 * Short, because a server without the extension gets the next message only after the previous one
 * was sent.
 */
const flushPollMs = 10;
/**
 * If a timer fires later than this, the process was busy or suspended. The link then waits this
 * long for frames that have already arrived.
 */
const maxTimerLagMs = 100;

type ConnectEffect = Extract<Effect, { type: "connect" }>;
type Handler = (payload: unknown) => void;

interface Sender {
  /** Receives a `ChatReceipt`, or the statuses of a stop. */
  resolve(result: never): void;
  reject(error: Error): void;
}

/** A message without a confirmation. Sending it again adds a sender that gets the same receipt. */
interface UnconfirmedMessage {
  readonly text: string;
  readonly senders: Sender[];
}

/** Keeps the senders of unconfirmed messages. */
function createSenders() {
  const messages = new Map<string, UnconfirmedMessage>();
  return {
    /** @returns True if the message is new and must be sent. */
    add(id: string, text: string, sender: Sender): boolean {
      const message = messages.get(id);
      if (!message) {
        messages.set(id, { text, senders: [sender] });
        return true;
      }
      if (message.text === text) message.senders.push(sender);
      else sender.reject(chatError("id_reused"));
      return false;
    },
    settle(
      effect: Extract<Effect, { type: "answered" | "confirmed" | "halted" | "refused" }>,
    ): void {
      const { id } = effect;
      const { senders = [] } = messages.get(id) ?? {};
      messages.delete(id);
      for (const { resolve, reject } of senders) {
        if (effect.type === "confirmed") resolve({ id, status: effect.status } as never);
        else if (effect.type === "answered") resolve(effect.result as never);
        else if (effect.type === "halted") resolve(effect.stopped as never);
        else reject(chatError(effect.code, effect.message));
      }
    },
  };
}

/** Creates the calls that wait for an answer of the server. */
function createCalls(
  senders: ReturnType<typeof createSenders>,
  newId: () => string,
  dispatch: (event: LinkEvent) => void,
): Pick<Link, "answer" | "send" | "stop"> {
  return {
    send(message) {
      const { id = newId(), ...payload }: ChatOutgoing =
        typeof message === "string" ? { content: message } : message;
      const text = JSON.stringify({ type: "message.send", id, payload });
      const accepted = new Promise<ChatReceipt>((resolve, reject) => {
        if (senders.add(id, text, { resolve, reject }))
          dispatch({ type: "send", id, text, bytes: encodeUtf8(text).length });
      });
      accepted.catch(() => undefined); // A caller that does not wait for it must not crash.
      return { id, accepted };
    },
    answer: (questionId, answer) =>
      new Promise((resolve, reject) => {
        const id = newId();
        const payload = { message_id: questionId, ...answer };
        senders.add(id, "", { resolve, reject });
        dispatch({
          type: "answer",
          id,
          text: JSON.stringify({ type: "question.answer", id, payload }),
        });
      }),
    stop: (requestId) =>
      new Promise((resolve, reject) => {
        const id = newId();
        senders.add(id, "", { resolve, reject });
        dispatch({ type: "halt", id, requestId });
      }),
  };
}

/** Calls `tick` at the time of the next step. Keeps one timer. */
function createSchedule(clock: Clock, hasSocket: () => boolean, tick: () => void) {
  const now = forwardOnlyClock(clock);
  let timer: unknown;
  let timerAt = Infinity;
  const fire = (): void => {
    timerAt = Infinity;
    tick();
  };
  return {
    now,
    schedule(at: number): void {
      if (at === timerAt) return;
      clock.clearTimeout(timer);
      timerAt = at;
      if (at === Infinity) return;
      timer = clock.setTimeout(
        () => {
          const late = now(at) - at;
          // Reads frames that arrived while the process was busy, before it judges the silence.
          if (hasSocket() && late > maxTimerLagMs) timer = clock.setTimeout(fire, maxTimerLagMs);
          else fire();
        },
        Math.max(0, at - now()),
      );
    },
  };
}

/**
 * Sockets do not report when written data was sent, and a server without the extension confirms
 * nothing. Polls the socket while such a server has an unconfirmed message.
 */
function createFlushPoll(
  clock: Clock,
  core: () => LinkData,
  socketOf: () => OpenSocket | undefined,
  onFlushed: (generation: number) => void,
) {
  let isPolling = false;
  return function poll(): void {
    const { generation, connection, outbox } = core();
    if (isPolling || connection?.mode !== "plain" || !outbox.some(({ sent }) => sent)) return;
    if (socketOf()?.buffered() === 0) return onFlushed(generation);
    isPolling = true;
    clock.setTimeout(() => {
      isPolling = false;
      poll();
    }, flushPollMs);
  };
}

const failureOf = ({ generation }: ConnectEffect, error: unknown): LinkEvent => ({
  type: "failed",
  generation,
  code: chatCode(error),
});

/** If a handler throws, the link continues. The error becomes an uncaught error of the platform. */
function reportUncaught(run: () => void): void {
  try {
    run();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

/** Creates a link that runs the pure steps on sockets and timers. */
export function createLink(options: LinkOptions): Link {
  const { url, sessionId, clock, newId } = options;
  const base = httpUrl(url);
  const senders = createSenders();
  let socket: OpenSocket | undefined;
  let lastToken: string | undefined;

  const { now, schedule } = createSchedule(
    clock,
    () => socket !== undefined,
    () => dispatch({ type: "tick" }),
  );
  const { send: dispatch, core } = (options.drive ?? sequentialDriver)({
    initial: initialData,
    step: (linkData, event) =>
      step(linkData, event, { now: now(), random: options.random(), silenceMs: options.silenceMs }),
    perform(effects, linkData) {
      for (const effect of effects) reportUncaught(() => perform(effect));
      pollFlush();
      schedule(nextAt(linkData));
    },
  });
  const pollFlush = createFlushPoll(
    clock,
    core,
    () => socket,
    (generation) => dispatch({ type: "flushed", generation }),
  );

  const listenerOf =
    (generation: number): SocketListener =>
    (event) =>
      dispatch(toLinkEvent(event, generation, base));

  async function connect({ generation, resume }: ConnectEffect): Promise<void> {
    const token = typeof options.token === "string" ? options.token : await options.token();
    const dial = await options.dial;
    if (core().generation !== generation) return;
    if (lastToken !== undefined && token !== lastToken) dispatch({ type: "retry" });
    lastToken = token;
    socket = dial({ url: dialUrl(url, sessionId, resume), token }, listenerOf(generation));
  }

  function perform(effect: Effect): void {
    switch (effect.type) {
      case "connect":
        connect(effect).catch((error: unknown) => dispatch(failureOf(effect, error)));
        return;
      case "drop":
        socket?.close();
        socket = undefined;
        return;
      case "write":
        return socket?.write(effect.text);
      case "notify":
        return (options[effect.handler] as Handler | undefined)?.(effect.payload);
      case "answered":
      case "halted":
      case "confirmed":
      case "refused":
        return senders.settle(effect);
    }
  }

  return {
    sessionId,
    start: () => dispatch({ type: "start" }),
    ...createCalls(senders, newId, dispatch),
    typing: (on) => dispatch({ type: "typing", on }),
    state: () => core().state,
    reportsEnds: () => !core().isPlain && (core().hello?.can ?? []).length > 0,
    retry: () => dispatch({ type: "retry" }),
    close: () => dispatch({ type: "close" }),
  };
}

const toLinkEvent = (event: SocketEvent, generation: number, base: string): LinkEvent =>
  event.type === "message"
    ? { type: "frame", generation, frame: decodeFrame(event.data, base) }
    : { ...event, generation };

/** @returns Undefined if the data is not a frame: the codec throws for no other reason. */
function decodeFrame(data: string | Uint8Array, base: string): ReceivedFrame | undefined {
  try {
    return decodeServer(data, base);
  } catch {
    return undefined;
  }
}
