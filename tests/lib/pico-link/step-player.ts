// Drives `step` in tests, and builds frames of a server.
import {
  initialData,
  nextAt,
  step,
  type LinkData,
  type Effect,
  type ChatStateChange,
  type LinkEvent,
  type ChatNotifications,
} from "../../../lib/pico-link/index.ts";
import type { Hello, ReceivedFrame, ServerFrame } from "../../../lib/pico-wire/index.ts";

/** Feeds events to `step` at given times and records the effects. */
export function play() {
  let linkData: LinkData = initialData;
  let now = 1_000_000;
  const all: Effect[] = [];
  const player = {
    core: () => linkData,
    do(event: LinkEvent, random = 0.5) {
      const [after, effects] = step(linkData, event, { now, random });
      linkData = after;
      all.push(...effects);
      return effects;
    },
    /** Lets time pass, with a tick whenever the link asked for it. */
    pass(ms: number) {
      const end = now + ms;
      for (let at = nextAt(linkData); at <= end; at = nextAt(linkData)) {
        now = Math.max(now, at);
        player.do({ type: "tick" });
      }
      now = end;
    },
    /** Suspends the process: there is one late tick. */
    sleep(ms: number) {
      now += ms;
      return player.do({ type: "tick" });
    },
    open() {
      if (linkData.state === "idle") player.do({ type: "start" });
      player.do({ type: "opened", generation: linkData.generation });
    },
    frame: (frame: ReceivedFrame | undefined) =>
      player.do({ type: "frame", generation: linkData.generation, frame }),
    close: (code: number, reason = "") =>
      player.do({ type: "closed", generation: linkData.generation, code, reason }),
    fail: (rejection: { status?: number; code?: string; retryAfterMs?: number }) =>
      player.do({ type: "failed", generation: linkData.generation, ...rejection }),
    send: (id: string, bytes = 10) => player.do({ type: "send", id, text: id, bytes }),
    notifications: <K extends keyof ChatNotifications>(handler: K): ChatNotifications[K][] =>
      all.flatMap((effect) =>
        effect.type === "notify" && effect.handler === handler
          ? [effect.payload as ChatNotifications[K]]
          : [],
      ),
    written: () => all.flatMap((effect) => (effect.type === "write" ? [effect.text] : [])),
    settled: () => all.filter((effect) => effect.type === "confirmed" || effect.type === "refused"),
    last: (): ChatStateChange => player.notifications("onState").at(-1)!,
  };
  return player;
}

export const greeting: Hello = {
  version: 1,
  conn_id: "conn",
  session_id: "s",
  epoch: "e",
  seq: 0,
  resumed: false,
  replay: 0,
  gap: false,
  ping_interval: 30,
  read_timeout: 60,
  max_payload: 1_000,
  window: { frames: 256, bytes: 1, ttl_s: 300 },
  retry: { min: 500, max: 30_000 },
};
export const hello = (change: Partial<Hello> = {}): ServerFrame => ({
  type: "hello",
  payload: { ...greeting, ...change },
});
export const create = (message_id: string, content: string, rest: object = {}): ServerFrame => ({
  type: "message.create",
  payload: { message_id, content, ...rest },
});
export const update = (message_id: string, content: string, rest: object = {}): ServerFrame => ({
  type: "message.update",
  payload: { message_id, content, ...rest },
});
export const numbered = (seq: number, epoch = "e"): ServerFrame =>
  ({ ...create(`m${seq}`, `${seq}`, { final: true }), seq, epoch }) as ServerFrame;
