import type { Clock, Dial, SocketListener } from "../../lib/pico-link/index.ts";
import {
  decode,
  encode,
  parseCursor,
  type ClientFrame,
  type Cursor,
  type ServerFrame,
} from "../../lib/pico-wire/index.ts";

/* A world for the link: time that only moves when told, a network that delays, drops, doubles and cuts, and the server's
 * side of extension 1 as a small model. Everything follows from one seed. */

export interface Time extends Clock {
  after(ms: number, run: () => void): void;
  /** Runs everything that is due until then. Promises settle in between. */
  pass(ms: number): Promise<void>;
}

export function createTime(): Time {
  let now = 1_700_000_000_000;
  let ids = 0;
  const due = new Map<number, { at: number; run: () => void }>();
  const add = (run: () => void, ms: number): number => {
    due.set(++ids, { at: now + Math.max(0, ms), run });
    return ids;
  };
  const next = (): [number, { at: number; run: () => void }] | undefined => {
    let first: [number, { at: number; run: () => void }] | undefined;
    for (const entry of due) if (!first || entry[1].at < first[1].at) first = entry;
    return first;
  };
  return {
    now: () => now,
    setTimeout: add,
    clearTimeout: (id) => void due.delete(id as number),
    after: (ms, run) => void add(run, ms),
    async pass(ms) {
      const end = now + ms;
      const settle = async (): Promise<void> => {
        for (let turn = 0; turn < 8; turn++) await Promise.resolve();
      };
      await settle();
      for (let entry = next(); entry && entry[1].at <= end; entry = next()) {
        due.delete(entry[0]);
        now = entry[1].at;
        entry[1].run();
        await settle();
      }
      now = end;
    },
  };
}

/** mulberry32: from 0 up to, but without, 1. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A socket as the server sees it. */
interface Peer {
  readonly conn: string;
  deliver(frame: ServerFrame): void;
  close(code: number, reason: string): void;
}

interface Held {
  readonly seq: number;
  readonly frame: ServerFrame;
}

export interface ServerOptions {
  readonly time: Time;
  readonly random: () => number;
  /** Frames kept for those who come back. */
  readonly window: number;
}

/** One process of a server with one session. `ends` it: what it held is gone. */
function createProcess({ time, random, window }: ServerOptions, number: number) {
  const epoch = `epoch-${number}`;
  const taken: string[] = [];
  const known = new Map<string, Promise<void>>();
  const published: { seq: number; content: string }[] = [];
  let held: Held[] = [];
  let peer: Peer | undefined;
  let seq = 0;
  let acked = 0;
  let conns = 0;
  let messages = 0;
  let isAlive = true;
  let work: Promise<void> = Promise.resolve();

  const wait = (ms: number): Promise<void> => new Promise((done) => time.after(ms, done));

  function put(frame: ServerFrame, isNumbered: boolean): void {
    if (!isNumbered) return peer?.deliver(frame);
    seq += 1;
    const numbered = { ...frame, seq, epoch } as ServerFrame;
    published.push({
      seq,
      content: "payload" in frame && "content" in frame.payload ? frame.payload.content : "",
    });
    held = [...held, { seq, frame: numbered }].slice(-window);
    peer?.deliver(numbered);
  }

  function tail(cursor: Cursor | undefined): {
    frames: ServerFrame[];
    gap?: { from?: number; to?: number; reason: string };
  } {
    if (cursor && (cursor.epoch !== epoch || cursor.seq > seq))
      return { frames: [], gap: { reason: "epoch_changed" } };
    const after = cursor?.seq ?? acked;
    const first = held[0]?.seq ?? seq + 1;
    if (first > after + 1)
      return { frames: [], gap: { from: after + 1, to: seq, reason: "overflow" } };
    return { frames: held.filter((entry) => entry.seq > after).map(({ frame }) => frame) };
  }

  function accept(id: string): Promise<void> {
    const before = work;
    const done = before
      .then(() => wait(Math.floor(random() * 40)))
      .then(() => {
        if (!isAlive) return new Promise<void>(() => {});
        taken.push(id);
        return undefined;
      });
    work = done;
    return done;
  }

  return {
    epoch,
    taken,
    published,
    isAlive: () => isAlive,
    seq: () => seq,
    connect(url: URL, make: (conn: string) => Peer): (frame: ClientFrame) => void {
      const resume = url.searchParams.get("resume");
      const cursor = resume === null ? undefined : parseCursor(resume);
      const own = make(`conn-${number}-${++conns}`);
      if (peer) peer.close(4409, "replaced");
      peer = own;
      const { frames, gap } = tail(cursor);
      own.deliver({
        type: "hello",
        payload: {
          version: 1,
          conn_id: own.conn,
          session_id: "s",
          epoch,
          seq,
          resumed: cursor !== undefined && !gap,
          replay: frames.length,
          gap: gap !== undefined,
          ping_interval: 30,
          read_timeout: 60,
          max_payload: 1_000_000,
          window: { frames: window, bytes: 1, ttl_s: 300 },
          retry: { min: 500, max: 30_000 },
        },
      });
      if (gap) own.deliver({ type: "gap", payload: gap });
      for (const frame of frames) own.deliver(frame);
      return (frame) => {
        if (!isAlive) return;
        if (frame.type === "ping") own.deliver({ type: "pong" });
        if (frame.type === "ack") acked = Math.max(acked, frame.payload.seq);
        if (frame.type !== "message.send" || frame.id === undefined) return;
        const { id } = frame;
        const isDuplicate = known.has(id);
        const acceptance = known.get(id) ?? accept(id);
        known.set(id, acceptance);
        void acceptance.then(() => {
          if (isAlive)
            own.deliver({
              type: "message.ack",
              payload: { request_id: id, status: isDuplicate ? "duplicate" : "accepted" },
            });
        });
      };
    },
    say(content: string): void {
      put(
        {
          type: "message.create",
          payload: { message_id: `m${number}-${++messages}`, content, final: true },
        },
        true,
      );
    },
    stream(content: string, pieces: number): void {
      const message_id = `m${number}-${++messages}`;
      put({ type: "message.create", payload: { message_id, content: "" } }, true);
      const piece = (at: number): void => {
        if (!isAlive) return;
        const isLast = at >= pieces;
        const text = content.slice(0, isLast ? undefined : at);
        put(
          {
            type: "message.update",
            payload: { message_id, content: text, ...(isLast && { final: true }) },
          },
          isLast,
        );
        if (!isLast) time.after(20, () => piece(at + 1));
      };
      time.after(20, () => piece(1));
    },
    end(): void {
      isAlive = false;
      peer = undefined;
    },
  };
}

export type Process = ReturnType<typeof createProcess>;

export interface World {
  readonly time: Time;
  readonly random: () => number;
  readonly dial: Dial;
  /** All processes there were; the last is the present one. */
  readonly processes: Process[];
  /** Times of dials. */
  readonly dials: { at: number; url: string; token: string }[];
  /** Most messages the server received within any second. */
  fastest(): number;
  server(): Process;
  cut(): void;
  /** Nothing gets through for that long. */
  outage(ms: number): void;
  /** The process dies; another one is there after `downMs`. Clean: it says so first. */
  restart(downMs: number, clean: boolean): void;
  /** The next numbered frame of the server gets lost, as no network does. */
  lose(): void;
  /** The next frame of the server comes twice. */
  double(): void;
  /** No more of either. */
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
  const born = (): void =>
    void processes.push(
      createProcess({ time, random, window: options.window }, processes.length + 1),
    );
  born();
  const server = (): Process => processes.at(-1)!;
  const delay = (most = 150): number => 1 + Math.floor(random() * most);

  /** One direction: in order, late, and silent once it is cut. */
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
    hear: SocketListener,
  ): { write(text: string): void; close(): void } {
    const process = server();
    let isOver = false;
    const end = (code: number, reason: string, ms: number): void => {
      if (isOver) return;
      isOver = true;
      up.cut();
      time.after(ms, () => {
        down.cut();
        hear({ type: "closed", code, reason });
      });
    };
    const down = pipe<ServerFrame>((frame) => hear({ type: "message", data: encode(frame) }));
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

  const dial: Dial = ({ url, token }, hear) => {
    dials.push({ at: time.now(), url, token });
    let socket: { write(text: string): void; close(): void } | undefined;
    let isDropped = false;
    time.after(delay(), () => {
      if (isDropped) return;
      if (!isUp || time.now() < outageUntil) return hear({ type: "failed" });
      if (options.accepts && !options.accepts(token)) {
        return hear({ type: "failed", status: 401, code: "token_mismatch" });
      }
      socket = establish(url, hear);
      hear({ type: "opened" });
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
        born();
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
