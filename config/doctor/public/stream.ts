// Checks server-sent events through the proxy: each event arrives when it is written, and a silent
// stream stays open.
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, constants } from "node:zlib";
import type { CheckView } from "../../../plugins/dashboard/index.ts";
import { nameOf, wayCheck } from "./reporter.ts";
import { askProbe, openProbe, responseOf, timeoutError, type Way } from "./way.ts";

const eventTimeoutMs = 3_000;
const openTimeoutMs = 10_000;
const lateMs = 10_000;
const rounds = 3;

interface ProbeEvent {
  readonly name?: string;
  readonly at?: number;
}

/** Events of one stream, in the order of their arrival. */
class ProbeStream {
  private readonly request: ReturnType<typeof openProbe>["request"];
  private readonly arrived: ProbeEvent[] = [];
  private text = "";
  private wake = (): void => undefined;
  private isEnded = false;
  encoding = "";

  constructor(request: ReturnType<typeof openProbe>["request"]) {
    this.request = request;
    request.on("error", () => this.end());
  }

  read(response: IncomingMessage): void {
    this.encoding = response.headers["content-encoding"] ?? "";
    const body = decoded(response, this.encoding);
    const end = (): void => this.end();
    response.on("error", end).on("close", end);
    body.on("error", end).on("end", end);
    body.on("data", (part: Buffer) => {
      this.text += part.toString("latin1");
      const events = this.text.split("\n\n");
      this.text = events.pop() ?? "";
      for (const event of events) this.arrived.push(parseEvent(event));
      if (this.arrived.length > 0) this.wake(); // not for the first half of an event
    });
  }

  /** @returns The next event; undefined if the stream ends first, or the time is over. */
  async next(withinMs: number): Promise<ProbeEvent | undefined> {
    const found = this.arrived.shift();
    if (found || this.isEnded || withinMs <= 0) return found;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    return this.arrived.shift();
  }

  private end(): void {
    this.isEnded = true;
    this.wake();
  }

  close(): void {
    this.request.destroy();
  }
}

function parseEvent(event: string): ProbeEvent {
  try {
    return JSON.parse(event.replace(/^data: /, "")) as ProbeEvent;
  } catch {
    return {}; // an event of the proxy
  }
}

/** @returns The body as a browser reads it: decompressed as far as it has arrived. */
function decoded(response: IncomingMessage, encoding: string): Readable {
  if (encoding === "gzip") return response.pipe(createGunzip({ flush: constants.Z_SYNC_FLUSH }));
  if (encoding === "br") return response.pipe(createBrotliDecompress());
  return response;
}

/** @returns `late` if the head of the response does not arrive in time. */
async function openStream(way: Way, silenceS: number): Promise<ProbeStream | "late" | "foreign"> {
  const { request, isProven } = openProbe(way, {
    action: "stream",
    isOfChannel: true,
    headers: { accept: "text/event-stream", "accept-encoding": "gzip, deflate, br" },
    ...(silenceS > 0 && { parameters: { silence: String(silenceS) } }),
  });
  const stream = new ProbeStream(request);
  const timer = setTimeout(() => request.destroy(timeoutError()), openTimeoutMs);
  try {
    const response = await responseOf(request);
    if (!isProven(response.headers)) {
      request.destroy();
      return "foreign";
    }
    stream.read(response);
    return stream;
  } catch {
    return "late";
  } finally {
    clearTimeout(timer);
  }
}

/** Each event arrives before the next one is asked for. */
export const streamCheck = wayCheck(
  "public-stream",
  "Events arrive when they are written",
  async (own, way, { fix, proxy }) => {
    const opened = await openStream(way, 0);
    if (opened === "foreign")
      return own.failed("A request for events was not answered by the launcher.", fix("channel"));
    const isCompressed = opened !== "late" && opened.encoding !== "";
    const late = (): CheckView =>
      own.failed(
        `${nameOf(proxy)} holds events back${isCompressed ? " to compress them" : ""}: ` +
          `none arrived within ` +
          `${eventTimeoutMs / 1_000} s. Answers appear at their end only.`,
        fix(isCompressed ? "compressedStream" : "stream"),
      );
    if (opened === "late") return late();
    try {
      const slowestMs = await slowestEvent(way, opened);
      if (slowestMs === undefined) return late();
      return own.ok(`Each event arrived within ${Math.ceil(slowestMs)} ms after it was asked for.`);
    } finally {
      opened.close();
    }
  },
);

/** @returns Milliseconds from asking for an event to its arrival; undefined if one is late. */
async function slowestEvent(way: Way, stream: ProbeStream): Promise<number | undefined> {
  const first = await stream.next(eventTimeoutMs);
  if (first?.name === undefined) return undefined;
  let slowestMs = 0;
  for (let round = 1; round <= rounds; round += 1) {
    const startedAt = performance.now();
    const parameters = { stream: first.name };
    const [event] = await Promise.all([
      stream.next(eventTimeoutMs),
      askProbe(way, { action: "next", method: "POST", parameters, isOfChannel: true }),
    ]);
    if (event?.at !== round) return undefined;
    slowestMs = Math.max(slowestMs, performance.now() - startedAt);
  }
  return slowestMs;
}

/** A stream without events stays open. */
export const streamSilenceCheck = wayCheck(
  "public-stream-silence",
  "A silent stream stays open",
  async (own, way, { fix, proxy }, seconds: number) => {
    const opened = await openStream(way, seconds);
    if (opened === "late" || opened === "foreign")
      return own.failed("The stream did not open.", fix("stream"));
    const startedAt = performance.now();
    const first = await opened.next(eventTimeoutMs);
    const last = first && (await opened.next(seconds * 1_000 + lateMs));
    opened.close();
    if (last && last.name === undefined) return own.ok(`It was silent for ${seconds} s.`);
    const passed = Math.round((performance.now() - startedAt) / 1_000);
    return own.failed(
      `${nameOf(proxy)} closed it after ${passed} s without an event.`,
      fix("streamSilence"),
    );
  },
);
