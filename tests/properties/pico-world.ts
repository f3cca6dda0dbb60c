// A network between a link and a server model: it delays, drops, repeats and cuts. Everything
// follows from one seed, and time only passes when a test says so.
import type { Dial, SocketListener } from "../../lib/pico-link/index.ts";
import { decode, encode, type ClientFrame, type ServerFrame } from "../../lib/pico-wire/index.ts";
import { createProcess, type Peer, type Process } from "./pico-server-model.ts";
import { createRandom, createTime, type Time } from "./pico-time.ts";

export interface World {
  readonly time: Time;
  readonly random: () => number;
  readonly dial: Dial;
  /** All server processes; the last one is the present one. */
  readonly processes: Process[];
  /** All attempts to connect. */
  readonly dials: { at: number; url: string; token: string }[];
  /** @returns The maximum number of messages that the server received within a second. */
  fastest(): number;
  server(): Process;
  cut(): void;
  /** Blocks the network for this time. */
  outage(ms: number): void;
  /**
   * Ends the process and starts another one after `downMs`.
   *
   * @param clean - The server announces the restart.
   */
  restart(downMs: number, clean: boolean): void;
  /** Loses the next numbered frame of the server, which no real network does. */
  lose(): void;
  /** Repeats the next frame of the server. */
  double(): void;
  /** Ends `lose` and `double`. */
  heal(): void;
}

export function createWorld(options: {
  seed: number;
  window: number;
  accepts?: (token: string) => boolean;
}): World {
  const time = createTime();
  const random = createRandom(options.seed);
  const processes: Process[] = [];
  const dials: World["dials"] = [];
  const arrivals: number[] = [];
  let isUp = true;
  let outageUntil = 0;
  let loses = 0;
  let doubles = 0;
  let present: { cut: () => void; close: (code: number, reason: string) => void } | undefined;
  const startProcess = (): void =>
    void processes.push(
      createProcess({ time, random, window: options.window }, processes.length + 1),
    );
  startProcess();
  const server = (): Process => processes.at(-1)!;
  const delay = (maxMs = 150): number => 1 + Math.floor(random() * maxMs);

  /** One direction of a connection: delayed but in order, and silent after a cut. */
  function pipe<T>(deliver: (item: T) => void): { send(item: T): void; cut(): void } {
    let last = 0;
    let isOpen = true;
    return {
      send(item) {
        last = Math.max(last, time.now() + delay());
        time.after(last - time.now(), () => {
          if (isOpen) deliver(item);
        });
      },
      cut: () => void (isOpen = false),
    };
  }

  function establish(
    url: string,
    listener: SocketListener,
  ): { write(text: string): void; close(): void } {
    const process = server();
    let isOver = false;
    const end = (code: number, reason: string, ms: number): void => {
      if (isOver) return;
      isOver = true;
      up.cut();
      time.after(ms, () => {
        down.cut();
        listener({ type: "closed", code, reason });
      });
    };
    const down = pipe<ServerFrame>((frame) => listener({ type: "message", data: encode(frame) }));
    let receive: (frame: ClientFrame) => void = () => {};
    const up = pipe<string>((text) => {
      const frame = decode(text, "client");
      if (frame.type === "message.send") arrivals.push(time.now());
      receive(frame);
    });
    const peer = (conn: string): Peer => ({
      conn,
      deliver(frame) {
        if (isOver) return;
        if ("seq" in frame && frame.seq !== undefined && loses > 0) return void (loses -= 1);
        down.send(frame);
        if (doubles > 0 && frame.type !== "hello" && frame.type !== "gap") {
          doubles -= 1;
          down.send(frame);
        }
      },
      close: (code, reason) => end(code, reason, delay()),
    });
    present = {
      cut: () => {
        down.cut();
        end(1006, "", delay(5_000));
      },
      close: (code, reason) => end(code, reason, delay()),
    };
    receive = process.connect(new URL(url), peer);
    return {
      write: (text) => {
        if (!isOver) up.send(text);
      },
      close: () => {
        isOver = true;
        down.cut();
        time.after(delay(), up.cut);
      },
    };
  }

  const dial: Dial = ({ url, token }, listener) => {
    dials.push({ at: time.now(), url, token });
    let socket: { write(text: string): void; close(): void } | undefined;
    let isDropped = false;
    time.after(delay(), () => {
      if (isDropped) return;
      if (!isUp || time.now() < outageUntil) return listener({ type: "failed" });
      if (options.accepts && !options.accepts(token)) {
        return listener({ type: "failed", status: 401, code: "token_mismatch" });
      }
      socket = establish(url, listener);
      listener({ type: "opened" });
    });
    return {
      write: (text) => socket?.write(text),
      buffered: () => 0,
      close() {
        isDropped = true;
        socket?.close();
      },
    };
  };

  return {
    time,
    random,
    dial,
    processes,
    dials,
    server,
    fastest: () =>
      Math.max(
        0,
        ...arrivals.map(
          (at) => arrivals.filter((other) => other >= at && other < at + 1_000).length,
        ),
      ),
    cut: () => present?.cut(),
    outage(ms) {
      outageUntil = Math.max(outageUntil, time.now() + ms);
      present?.cut();
    },
    restart(downMs, clean) {
      if (!isUp) return;
      isUp = false;
      server().end();
      if (clean) present?.close(1012, "restart; retry=300");
      else present?.cut();
      time.after(downMs, () => {
        startProcess();
        isUp = true;
      });
    },
    lose: () => void (loses += 1),
    double: () => void (doubles += 1),
    heal() {
      loses = 0;
      doubles = 0;
    },
  };
}
