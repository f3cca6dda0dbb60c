// Reads the JSON body of a request within limits on size, time, memory, depth and values.
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../kernel/index.ts";
import { parseObject } from "../../lib/pico-wire/index.ts";
import type { PicoProtocol } from "../pico-server/index.ts";
import { Refusal } from "./refusal.ts";

/** The slowest allowed rate applies after this time. */
const graceMs = 30_000;
const checkMs = 5_000;
const minBytesPerSecond = 16 * 1024;

interface BodyOptions {
  readonly maxBytes: number;
  readonly clock: Clock;
  /** The memory budget of messages that the application has not accepted. */
  readonly memory: ReturnType<PicoProtocol["body"]>;
}

/** A parsed body. */
export interface JsonBody {
  readonly value: Readonly<Record<string, unknown>>;
  /** Gives the memory back. Call it once the application has accepted or rejected the message. */
  release(): void;
}

function assertType(request: IncomingMessage): void {
  const type = (request.headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase();
  if (type === "application/json") return;
  const hasBody =
    request.headers["content-length"] !== undefined ||
    request.headers["transfer-encoding"] !== undefined;
  if (!hasBody && type === "") throw invalidJson();
  const message = "The body must have Content-Type: application/json.";
  throw new Refusal("unsupported_media_type", message);
}

const invalidJson = (): Refusal =>
  new Refusal(
    "invalid_json",
    "The body must be a JSON object in UTF-8 with at most 64 levels and 65,536 values.",
  );
const tooLarge = (maxBytes: number): Refusal =>
  new Refusal("too_large", `The body may have at most ${maxBytes} bytes.`);

/** @returns The body, or undefined if the client closed the connection. */
export async function readJson(
  request: IncomingMessage,
  { maxBytes, clock, memory }: BodyOptions,
): Promise<JsonBody | undefined> {
  assertType(request);
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const { release } = memory;
  let received = 0;
  const chunks: Buffer[] = [];
  const collect = (chunk: Buffer): Refusal | undefined => {
    if (received + chunk.byteLength > maxBytes) return tooLarge(maxBytes);
    if (!memory.reserve(chunk.byteLength)) {
      const message = "Too many messages wait for the application. Try again shortly.";
      return new Refusal("rate_limited", message, { headers: { "Retry-After": "1" } });
    }
    received += chunk.byteLength;
    chunks.push(chunk);
    return undefined;
  };
  try {
    if (!(await readChunks(request, clock, collect, () => received))) {
      release();
      return undefined;
    }
    memory.arrived();
    const value = parseObject(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    if (value === undefined) throw invalidJson();
    chunks.length = 0; // `release` keeps the list alive
    return { value, release };
  } catch (error) {
    release();
    throw error;
  }
}

/** @returns Whether the whole body has arrived. */
function readChunks(
  request: IncomingMessage,
  clock: Clock,
  collect: (chunk: Buffer) => Refusal | undefined,
  received: () => number,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    let passedMs = 0; // summed up from the timers, because the clock may be set in the meantime
    let timer: unknown;
    const finish = (run: () => void): void => {
      clock.clearTimeout(timer);
      request.off("data", onData).off("end", onEnd).off("close", onClose).off("error", onClose);
      request.pause();
      run();
    };
    const checkIn = (ms: number): void =>
      void (timer = clock.setTimeout(() => {
        passedMs += ms;
        if (received() >= (passedMs / 1_000) * minBytesPerSecond) return checkIn(checkMs);
        const late = new Refusal("body_timeout", "The body arrived too slowly.");
        finish(() => reject(late));
      }, ms));
    const onData = (chunk: Buffer): void => {
      const refusal = collect(chunk);
      if (refusal) finish(() => reject(refusal));
    };
    const onEnd = (): void => finish(() => resolve(true));
    const onClose = (): void => finish(() => resolve(false));
    checkIn(graceMs);
    request.on("data", onData).on("end", onEnd).on("close", onClose).on("error", onClose);
  });
}
