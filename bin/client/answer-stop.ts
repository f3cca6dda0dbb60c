// Stops answers from the terminal, at Ctrl+C and `/stop`.
import type { ChatHandlers } from "../../lib/pico-link/index.ts";
import type { PicoLink } from "../../plugins/pico-client/index.ts";
import { sanitizeLine } from "./text.ts";
import { errorReason } from "./session.ts";

/** A second Ctrl+C within this time ends the client. */
const secondPressMs = 2_000;

interface StopperOptions {
  readonly note: (text: string) => void;
  readonly status: (text: string | undefined) => void;
  readonly isOpen: () => boolean;
  /** Ends the client; `isForced` at the second Ctrl+C. */
  readonly leave: (isForced: boolean) => void;
}

export class Stopper {
  /** Set once the session is open. */
  link: PicoLink | undefined;
  /** Message id -> true once a complete reply has arrived, which need not be the last one. */
  private readonly runs = new Map<string, boolean>();
  private pressedAt = -Infinity;
  private readonly options: StopperOptions;

  constructor(options: StopperOptions) {
    this.options = options;
  }

  /** Notes that a message was sent, or that its answer grows. */
  readonly started = (id: string): void => {
    this.runs.set(id, false);
  };

  /** Notes a complete reply. Servers that do not name its message do not announce ends either. */
  readonly replied = (id: string | undefined): void => {
    for (const known of id === undefined ? [...this.runs.keys()] : [id])
      if (this.runs.has(known)) this.runs.set(known, true);
  };

  readonly ended: NonNullable<ChatHandlers["onEnd"]> = ({ requestId, outcome }) => {
    // Servers repeat the end after a reconnect.
    if (this.runs.delete(requestId) && outcome === "stopped") this.options.note("stopped");
  };

  /** Reports a message that was not delivered. */
  failed(id: string, error: unknown): void {
    const { code, message } = errorReason(error);
    const isKnown = this.runs.delete(id);
    if (code !== "stopped") this.options.note(`not delivered: ${sanitizeLine(message)}`);
    else if (isKnown) this.options.note("stopped");
  }

  /** Ctrl+C: stops what runs, or leaves. */
  readonly interrupt = (): void => {
    const now = performance.now();
    const isSecond = now - this.pressedAt < secondPressMs;
    if (isSecond || !this.isRunning()) return this.options.leave(isSecond);
    this.pressedAt = now;
    this.options.status("stopping; press Ctrl+C again to leave");
    // A server that cannot stop answers leaves Ctrl+C its usual meaning.
    void this.stop(() => this.options.leave(false));
  };

  /** `/stop`. */
  readonly command = (): void => {
    if (!this.isRunning()) return this.options.note("no answer is running");
    this.options.status("stopping …");
    void this.stop(() => this.options.note("this server cannot stop answers"));
  };

  /** Without a connection, an answered message is probably over. */
  private isRunning(): boolean {
    const runs = [...this.runs.values()];
    return this.link !== undefined && runs.some((hasReply) => !hasReply || this.options.isOpen());
  }

  private async stop(unsupported: () => void): Promise<void> {
    const { note, status, isOpen } = this.options;
    const asked = [...this.runs.keys()];
    if (!isOpen()) note("not connected; the answer stops after the next connection");
    try {
      const results = (await this.link?.stop()) ?? [];
      // The end of an answer that stops is announced; of the others, it may have been lost.
      const stopping = new Set(
        results.filter((item) => item.status === "stopping").map(({ requestId }) => requestId),
      );
      for (const id of asked) if (!stopping.has(id)) this.runs.delete(id);
    } catch (error) {
      const { code, message } = errorReason(error);
      if (code === "unsupported") unsupported();
      else if (code === "expired") note("not stopped: there was no connection for a minute");
      else if (code !== "closed") note(`not stopped: ${sanitizeLine(message)}`);
    } finally {
      if (isOpen()) status(undefined);
    }
  }
}
