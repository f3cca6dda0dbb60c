import { decodeServer, encodeUtf8, type ServerFrame } from "../pico-wire/index.ts";
import { dialUrl, httpUrl, type OpenSocket, type SocketListener } from "./dial.ts";
import { linkError } from "./errors.ts";
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
  LinkOutgoing,
  LinkReceipt,
} from "./types.ts";

/** One event after the other; what an effect causes comes after the effects before it. */
export const sequentialDriver: Driver = ({ initial, step, perform }) => {
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

/** The time of a clock, but for its steps back: else what is to be done at some time, as the next try to connect, would
 *  wait until a clock that was set back is there again. Steps forward count: the process may have slept. `least`: what
 *  it is at least, as whoever set a timer for then knows. */
export function forwardOnlyClock(clock: Clock): (least?: number) => number {
  let latest = 0;
  let setBack = 0;
  return (least = 0) => {
    const time = clock.now();
    setBack = Math.max(setBack, latest - time, least - time);
    return (latest = time + setBack);
  };
}

/** Short, because a server without the extension gets the next message only when the one before has left. */
const flushPollMs = 10;
/** A timer this late tells of a process that was held up, or asleep: as long it may hear what came meanwhile. */
const maxTimerLagMs = 100;

/** A message that is not confirmed. Whoever sends the same again is told what becomes of it, as servers do. */
interface UnconfirmedMessage {
  readonly text: string;
  readonly senders: { resolve: (receipt: LinkReceipt) => void; reject: (error: Error) => void }[];
}

/** The pure steps, carried out on sockets and timers. */
export function createLink(options: LinkOptions): Link {
  const { url, sessionId, clock, newId } = options;
  const now = forwardOnlyClock(clock);
  const base = httpUrl(url);
  const waiting = new Map<string, UnconfirmedMessage>();
  let socket: OpenSocket | undefined;
  let shown: string | undefined;
  let timer: unknown;
  let timerAt = Infinity;

  const machine = (options.drive ?? sequentialDriver)({
    initial: initialData,
    step: (linkData, event) =>
      step(linkData, event, { now: now(), random: options.random(), silenceMs: options.silenceMs }),
    perform(effects, linkData) {
      for (const effect of effects) guarded(effect);
      flush();
      schedule(linkData);
    },
  });
  const { send: dispatch } = machine;

  function schedule(linkData: LinkData): void {
    const at = nextAt(linkData);
    if (at === timerAt) return;
    clock.clearTimeout(timer);
    timerAt = at;
    if (at === Infinity) return;
    timer = clock.setTimeout(
      () => {
        const late = now(at) - at;
        // Else silence is taken for an answer that waits to be read.
        if (socket && late > maxTimerLagMs) timer = clock.setTimeout(tick, maxTimerLagMs);
        else tick();
      },
      Math.max(0, at - now()),
    );
  }

  function tick(): void {
    timerAt = Infinity;
    dispatch({ type: "tick" });
  }

  const hearing =
    (generation: number): SocketListener =>
    (news) =>
      dispatch(
        news.type === "message"
          ? { type: "frame", generation, frame: decodeFrame(news.data, base) }
          : { ...news, generation },
      );

  async function connect({
    generation,
    resume,
  }: Extract<Effect, { type: "connect" }>): Promise<void> {
    const token = typeof options.token === "string" ? options.token : await options.token();
    const dial = await options.dial;
    if (machine.core().generation !== generation) return;
    if (shown !== undefined && token !== shown) dispatch({ type: "retry" });
    shown = token;
    socket = dial({ url: dialUrl(url, sessionId, resume), token }, hearing(generation));
  }

  function perform(effect: Effect): void {
    switch (effect.type) {
      case "connect":
        connect(effect).catch(() => dispatch({ type: "failed", generation: effect.generation }));
        return;
      case "drop":
        socket?.close();
        socket = undefined;
        return;
      case "write":
        return socket?.write(effect.text);
      case "tell":
        return (options[effect.handler] as ((news: unknown) => void) | undefined)?.(effect.news);
      case "confirmed":
      case "refused":
        return settle(effect);
    }
  }

  function settle(effect: Extract<Effect, { type: "confirmed" | "refused" }>): void {
    const { id } = effect;
    const { senders = [] } = waiting.get(id) ?? {};
    waiting.delete(id);
    for (const { resolve, reject } of senders) {
      if (effect.type === "confirmed") resolve({ id, status: effect.status });
      else reject(linkError(effect.code, effect.message));
    }
  }

  /** A handler that throws must not stop the link: the error is reported as one of nobody. */
  function guarded(effect: Effect): void {
    try {
      perform(effect);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }

  let isPolling = false;
  /** Sockets do not say when what was written has left: they are asked, where no server will tell. */
  function flush(): void {
    const { generation, connection, outbox } = machine.core();
    if (isPolling || connection?.mode !== "plain" || !outbox.some(({ sent }) => sent)) return;
    if (socket?.buffered() === 0) return dispatch({ type: "flushed", generation });
    isPolling = true;
    clock.setTimeout(() => {
      isPolling = false;
      flush();
    }, flushPollMs);
  }

  return {
    sessionId,
    start: () => dispatch({ type: "start" }),
    send: (message) =>
      new Promise((resolve, reject) => {
        const { id = newId(), ...payload }: LinkOutgoing =
          typeof message === "string" ? { content: message } : message;
        const text = JSON.stringify({ type: "message.send", id, payload });
        const before = waiting.get(id);
        if (before && before.text !== text) return reject(linkError("id_reused"));
        if (before) return void before.senders.push({ resolve, reject });
        waiting.set(id, { text, senders: [{ resolve, reject }] });
        dispatch({ type: "send", id, text, bytes: encodeUtf8(text).length });
      }),
    typing: (on) => dispatch({ type: "typing", on }),
    state: () => machine.core().state,
    retry: () => dispatch({ type: "retry" }),
    stop: () => dispatch({ type: "stop" }),
  };
}

/** Undefined for what is no frame, which is all that the codec throws for. */
function decodeFrame(data: string | Uint8Array, base: string): ServerFrame | undefined {
  try {
    return decodeServer(data, base);
  } catch {
    return undefined;
  }
}
