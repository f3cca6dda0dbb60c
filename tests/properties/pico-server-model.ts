// A small model of a server of extension 1, with one session.
import {
  parseCursor,
  type ClientFrame,
  type Cursor,
  type ServerFrame,
} from "../../lib/pico-wire/index.ts";
import type { Time } from "./pico-time.ts";

/** The server side of a socket. */
export interface Peer {
  readonly conn: string;
  deliver(frame: ServerFrame): void;
  close(code: number, reason: string): void;
}

interface KeptFrame {
  readonly seq: number;
  readonly frame: ServerFrame;
}

export interface ServerOptions {
  readonly time: Time;
  readonly random: () => number;
  /** The number of frames kept for clients that reconnect. */
  readonly window: number;
}

/** One process of a server with one session. `end` stops it, and its frames are lost. */
export function createProcess({ time, random, window }: ServerOptions, number: number) {
  const epoch = `epoch-${number}`;
  const accepted: string[] = [];
  const known = new Map<string, Promise<void>>();
  const published: { seq: number; content: string }[] = [];
  let keptFrames: KeptFrame[] = [];
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
    keptFrames = [...keptFrames, { seq, frame: numbered }].slice(-window);
    peer?.deliver(numbered);
  }

  function tail(cursor: Cursor | undefined): {
    frames: ServerFrame[];
    gap?: { from?: number; to?: number; reason: string };
  } {
    if (cursor && (cursor.epoch !== epoch || cursor.seq > seq))
      return { frames: [], gap: { reason: "epoch_changed" } };
    const after = cursor?.seq ?? acked;
    const first = keptFrames[0]?.seq ?? seq + 1;
    if (first > after + 1)
      return { frames: [], gap: { from: after + 1, to: seq, reason: "overflow" } };
    return { frames: keptFrames.filter((entry) => entry.seq > after).map(({ frame }) => frame) };
  }

  function accept(id: string): Promise<void> {
    const previous = work;
    const done = previous
      .then(() => wait(Math.floor(random() * 40)))
      .then(() => {
        if (!isAlive) return new Promise<void>(() => {});
        accepted.push(id);
        return undefined;
      });
    work = done;
    return done;
  }

  return {
    epoch,
    accepted,
    published,
    isAlive: () => isAlive,
    seq: () => seq,
    connect(url: URL, make: (conn: string) => Peer): (frame: ClientFrame) => void {
      const resume = url.searchParams.get("resume");
      const cursor = resume === null ? undefined : parseCursor(resume);
      const current = make(`conn-${number}-${++conns}`);
      if (peer) peer.close(4409, "replaced");
      peer = current;
      const { frames, gap } = tail(cursor);
      current.deliver({
        type: "hello",
        payload: {
          version: 1,
          conn_id: current.conn,
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
      if (gap) current.deliver({ type: "gap", payload: gap });
      for (const frame of frames) current.deliver(frame);
      return (frame) => {
        if (!isAlive) return;
        if (frame.type === "ping") current.deliver({ type: "pong" });
        if (frame.type === "ack") acked = Math.max(acked, frame.payload.seq);
        if (frame.type !== "message.send" || frame.id === undefined) return;
        const { id } = frame;
        const isDuplicate = known.has(id);
        const acceptance = known.get(id) ?? accept(id);
        known.set(id, acceptance);
        void acceptance.then(() => {
          if (isAlive)
            current.deliver({
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
    stream(content: string, parts: number): void {
      const message_id = `m${number}-${++messages}`;
      put({ type: "message.create", payload: { message_id, content: "" } }, true);
      const sendPart = (index: number): void => {
        if (!isAlive) return;
        const isLast = index >= parts;
        const text = content.slice(0, isLast ? undefined : index);
        put(
          {
            type: "message.update",
            payload: { message_id, content: text, ...(isLast && { final: true }) },
          },
          isLast,
        );
        if (!isLast) time.after(20, () => sendPart(index + 1));
      };
      time.after(20, () => sendPart(1));
    },
    end(): void {
      isAlive = false;
      peer = undefined;
    },
  };
}

export type Process = ReturnType<typeof createProcess>;
