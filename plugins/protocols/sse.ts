// Writes server-sent events with comments during silence, and destroys sockets that take nothing.
import type { ServerResponse } from "node:http";
import type { Release } from "../../kernel/index.ts";
import { openEventStream } from "../http/kit.ts";
import type { Protocol } from "./protocol.ts";
import type { Call } from "./server.ts";

const silenceMs = 15_000;
const comment = ": \n\n";

/** One stream of events. It ends only by `end` or `destroy`. */
export class EventWriter {
  private readonly protocol: Protocol;
  private readonly response: ServerResponse;
  private readonly drained: () => void;
  /** Frees the memory of events that wait in the socket. */
  private readonly held: Release[] = [];
  private timer: unknown;
  private isBlocked = false;
  private isQuiet = false;
  private stalledMs = 0;
  private queuedAtCheck = 0;

  /**
   * Sends the headers with no comment: go-openai takes one for the start of an error.
   *
   * @param drained - Called when the socket takes more.
   */
  constructor(
    protocol: Protocol,
    { response, cors }: Call,
    headers: Readonly<Record<string, string>> = {},
    drained: () => void = () => undefined,
  ) {
    this.protocol = protocol;
    this.response = response;
    this.drained = drained;
    openEventStream(response, { ...cors, ...headers });
    response.on("drain", this.onDrain);
    response.once("close", () => protocol.clock.clearTimeout(this.timer));
    response.flushHeaders();
    this.watch();
  }

  /** False while the socket has not taken what was written. */
  isWritable(): boolean {
    return !this.isBlocked && !this.response.destroyed;
  }

  /** Writes one event. `data` must not contain a line break. */
  event(data: string, type?: string): void {
    this.write(type === undefined ? `data: ${data}\n\n` : `event: ${type}\ndata: ${data}\n\n`);
  }

  end(): void {
    const { response } = this;
    if (!response.writableEnded) response.end();
  }

  /** Breaks the connection, so that the client does not take the response as complete. */
  destroy(): void {
    this.response.destroy();
  }

  private write(text: string): void {
    const { response } = this;
    if (response.destroyed || response.writableEnded) return;
    const release = this.protocol.http.holdResponse(response, text.length);
    if (!release) return this.destroy(); // too many large events are unread
    this.held.push(release);
    this.isQuiet = false;
    this.isBlocked = !response.write(text);
    if (!this.isBlocked) this.releaseHeld();
  }

  private releaseHeld(): void {
    for (const release of this.held.splice(0)) release();
  }

  private readonly onDrain = (): void => {
    this.releaseHeld();
    this.isBlocked = false;
    this.drained();
  };

  /** One timer for both tasks: a comment after silence, and the end of a stalled socket. */
  private watch(): void {
    const { response, protocol } = this;
    const stallMs = (): number => protocol.config().write_timeout * 1_000;
    const everyMs = Math.min(silenceMs, stallMs());
    this.timer = protocol.clock.setTimeout(() => {
      const queued = response.socket?.writableLength ?? 0;
      const isStalled = queued > 0 && queued >= this.queuedAtCheck && this.queuedAtCheck > 0;
      this.stalledMs = isStalled ? this.stalledMs + everyMs : 0;
      this.queuedAtCheck = this.isBlocked || response.writableEnded ? queued : 0;
      if (this.stalledMs >= stallMs()) return void response.destroy();
      if (this.isQuiet && !this.isBlocked) this.write(comment);
      this.isQuiet = true;
      this.watch();
    }, everyMs);
  }
}
