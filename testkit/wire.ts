// Observes and changes how bytes reach a channel under test.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import type { OpenResources } from "./open-resources.ts";

/** Node publishes each socket here, before its first byte. */
const [accepted, opened] = ["net.server.socket", "net.client.socket"] as const;
/** Chunks that arrive within this time are joined. */
const joinMs = 10;

/** How the bytes arrive: as the network has them, one by one, several writes as one chunk, or each
 *  chunk in two parts, between which other connections speak. */
type WireMode = "whole" | "cut" | "joined" | "halved";
type Fields = Readonly<Record<string, unknown>>;

type Push = Socket["push"];

/** Adds fields to a JSON object that lacks them. Other texts stay. */
function forgeText(text: string, fields: Fields): string {
  try {
    const frame = JSON.parse(text) as unknown;
    const isObject = typeof frame === "object" && frame !== null && !Array.isArray(frame);
    return isObject ? JSON.stringify({ ...fields, ...frame }) : text;
  } catch {
    return text;
  }
}

const maxShortFrame = 65_535;

/** A masked text frame of a WebSocket (RFC 6455 §5.2), whose mask is zero. */
function toTextFrame(text: string): Buffer {
  const body = Buffer.from(text).subarray(0, maxShortFrame);
  const head = Buffer.alloc(body.length < 126 ? 6 : 8);
  head.writeUInt8(0x81);
  head.writeUInt8(0x80 | Math.min(body.length, 126), 1);
  if (body.length >= 126) head.writeUInt16BE(body.length, 2);
  return Buffer.concat([head, body]);
}

/** @returns The chunk as it is, if it is not one or more whole, short text frames. */
function forgeTextFrames(chunk: Buffer, fields: Fields): Buffer {
  const frames: Buffer[] = [];
  let rest = chunk;
  while (rest.length > 0) {
    const short = (rest[1] ?? 0) & 0x7f;
    if (rest[0] !== 0x81 || short === 127 || rest.length < 8) return chunk;
    const start = short === 126 ? 8 : 6;
    const end = start + (short === 126 ? rest.readUInt16BE(2) : short);
    if (rest.length < end) return chunk;
    const mask = rest.subarray(start - 4, start);
    const text = rest.subarray(start, end).map((byte, at) => byte ^ mask[at & 3]!);
    frames.push(toTextFrame(forgeText(String(Buffer.from(text)), fields)));
    rest = rest.subarray(end);
  }
  return Buffer.concat(frames);
}

function forgeChunk(chunk: Buffer, fields: Fields): Buffer {
  if (chunk[0] === 0x81) return forgeTextFrames(chunk, fields);
  if (chunk[0] !== 0x7b) return chunk;
  const lines = chunk.toString().split("\n");
  return Buffer.from(lines.map((line) => forgeText(line, fields)).join("\n"));
}

/** Lets a server of HTTP read what the tap passes on, instead of reading the socket itself. */
function tapParser(socket: Socket & { parser?: unknown }): void {
  process.nextTick(() => void (socket.parser && socket.on("data", () => undefined)));
}

/** Taps the sockets that the tracked channel accepts or opens. */
export function tapWire(resources: OpenResources) {
  let mode: WireMode = "whole";
  let arrived: Buffer[] = [];
  let thrown: string | undefined;
  let fields: Fields | undefined;

  function tap(socket: Socket, isAccepted: boolean): void {
    const push: Push = socket.push.bind(socket);
    let held: Buffer[] = [];
    const safely: Push = (chunk) => {
      try {
        return push(chunk);
      } catch (error) {
        thrown ??= (error as Error).message;
        socket.destroy();
        return false;
      }
    };
    function flush(): void {
      const chunks = held;
      held = [];
      if (chunks.length > 0) safely(Buffer.concat(chunks));
    }
    const isHeld = (): boolean => mode === "joined" || mode === "halved";
    socket.push = (received: Buffer | null) => {
      if (received === null || !isHeld()) flush();
      if (received === null) return safely(null);
      arrived.push(Buffer.from(received));
      const chunk = fields && isAccepted ? forgeChunk(received, fields) : received;
      if (mode === "whole") return safely(chunk);
      if (isHeld()) {
        if (held.length === 0) setTimeout(flush, joinMs);
        const now = mode === "halved" && held.length === 0 ? chunk.length >> 1 : 0;
        if (now > 0) safely(chunk.subarray(0, now));
        held.push(chunk.subarray(now));
        return true;
      }
      let isWanted = true;
      for (let at = 0; at < chunk.length; at += 1) isWanted = safely(chunk.subarray(at, at + 1));
      return isWanted;
    };
  }
  function onSocket(message: unknown, event: string | symbol): void {
    if (!resources.isOwn()) return;
    const { socket } = message as { socket: Socket };
    tap(socket, event === accepted);
    tapParser(socket);
  }
  for (const event of [accepted, opened]) subscribe(event, onSocket);
  return {
    resources,
    /** Sets the mode of the bytes that arrive from now on. */
    deliver: (next: WireMode): void => void (mode = next),
    /** Adds these fields to each JSON object that a client sends as a line or WebSocket text. */
    forge: (next: Fields | undefined): void => void (fields = next),
    /** @returns The bytes that arrived since the last call. */
    take(): Buffer {
      const bytes = Buffer.concat(arrived);
      arrived = [];
      return bytes;
    },
    /** @returns What a listener of the channel threw, if any did. */
    problem: () => thrown,
    end(): void {
      for (const event of [accepted, opened]) unsubscribe(event, onSocket);
    },
  };
}

/** The TCP sockets of the channel under test. */
export type Wire = ReturnType<typeof tapWire>;
