import { base } from "./dom.ts";

/* A client of the pico channel for this page: plain WebSocket, known to the server by the session cookie. Numbered
 * frames are counted and confirmed, so that a reconnect goes on where it was cut. */

/** A frame as it came; every field is checked where it is used. */
export interface Frame {
  readonly type: string;
  readonly id?: string;
  readonly timestamp?: number;
  readonly seq?: number;
  readonly epoch?: string;
  readonly payload?: Readonly<Record<string, unknown>>;
}

export type LinkState = "connecting" | "open" | "waiting" | "stopped";

export interface PicoHandlers {
  onFrame(frame: Frame): void;
  /** Every text that travels. */
  onRaw(direction: "in" | "out", text: string): void;
  /** `why`: the close, or nothing. */
  onState(state: LinkState, why?: { code: number; reason: string; wasOpen: boolean }): void;
}

export interface PicoSocket {
  /** False while there is no connection. */
  send(frame: object): boolean;
  /** Tries now. */
  connect(): void;
  stop(): void;
}

/** Nothing is gained by trying again by oneself. */
const terminal = new Set([1000, 1008, 4400, 4401, 4403, 4409]);
const shortest = 500;
const longest = 30_000;
const ackEvery = 1000;

/** Connects to the session and stays connected, with growing pauses; `stop` ends it. */
export function openPico(session: string, handlers: PicoHandlers): PicoSocket {
  let socket: WebSocket | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ackTimer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  let cursor: { epoch: string; seq: number } | undefined;
  let connection = "";

  const address = (): string => {
    const url = new URL(`${base}/pico`, location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    url.searchParams.set("session_id", session);
    url.searchParams.set("pico_ext", "1");
    if (cursor) url.searchParams.set("resume", `${cursor.epoch}:${cursor.seq}`);
    if (cursor && connection !== "") url.searchParams.set("conn", connection);
    return url.href;
  };
  const write = (frame: object): boolean => {
    if (socket?.readyState !== WebSocket.OPEN) return false;
    const text = JSON.stringify(frame);
    socket.send(text);
    handlers.onRaw("out", text);
    return true;
  };
  const acknowledge = (): void => {
    ackTimer ??= setTimeout(() => {
      ackTimer = undefined;
      if (cursor) write({ type: "ack", payload: { seq: cursor.seq } });
    }, ackEvery);
  };
  /** False for a frame that was here before. */
  const isNew = ({ type, seq, epoch, payload }: Frame): boolean => {
    if (type === "hello") {
      connection = typeof payload?.["conn_id"] === "string" ? payload["conn_id"] : "";
      const { epoch: newest, seq: top, replay, resumed } = payload ?? {};
      const goesOn = resumed === true && cursor?.epoch === newest;
      if (!goesOn && typeof newest === "string" && typeof top === "number") {
        cursor = { epoch: newest, seq: top - (typeof replay === "number" ? replay : 0) };
      }
    }
    if (typeof seq !== "number" || typeof epoch !== "string") return true;
    if (cursor?.epoch === epoch && seq <= cursor.seq) return false;
    cursor = { epoch, seq };
    acknowledge();
    return true;
  };
  const retry = (reason: string): void => {
    const asked = Number(/retry=(\d+)/.exec(reason)?.[1] ?? 0);
    const pause = Math.max(asked, shortest + Math.random() * Math.min(longest, shortest * 2 ** failures++));
    timer = setTimeout(connect, pause);
  };
  const connect = (): void => {
    clearTimeout(timer);
    socket?.close();
    let wasOpen = false;
    const mine = new WebSocket(address());
    socket = mine;
    handlers.onState("connecting");
    mine.addEventListener("open", () => {
      if (socket !== mine) return;
      wasOpen = true;
      handlers.onState("open");
    });
    mine.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
      if (socket !== mine || typeof data !== "string") return;
      failures = 0;
      handlers.onRaw("in", data);
      const frame = read(data);
      if (frame && isNew(frame)) handlers.onFrame(frame);
    });
    mine.addEventListener("close", ({ code, reason }) => {
      if (socket !== mine) return;
      socket = undefined;
      const isOver = terminal.has(code);
      handlers.onState(isOver ? "stopped" : "waiting", { code, reason, wasOpen });
      if (!isOver) retry(reason);
    });
  };
  return {
    send: write,
    connect,
    stop() {
      clearTimeout(timer);
      clearTimeout(ackTimer);
      const last = socket;
      socket = undefined;
      last?.close(1000);
    },
  };
}

function read(text: string): Frame | undefined {
  try {
    const frame = JSON.parse(text) as Frame | null;
    return typeof frame?.type === "string" ? frame : undefined;
  } catch {
    return undefined;
  }
}
