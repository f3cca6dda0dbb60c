/** Imitates a WebSocket by an event stream and requests. @module */

interface OutgoingFrame {
  readonly type: string;
  readonly id?: string;
  readonly payload?: { readonly request_id?: string };
}

interface JsonAnswer {
  readonly status: number;
  /** Undefined if a proxy has answered, or nothing at all. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

const minRepeatMs = 1_000;
const maxRepeatMs = 10_000;
/** As a WebSocket reports a connection that was lost. */
const lostCode = 1006;

/** Statuses of a server that admits no connection now: another connection finds out why. */
const isRejected = (status: number, code: unknown): boolean =>
  [401, 403, 404].includes(status) ||
  (status === 503 && code !== "busy" && code !== "no_application");

/** Has the part of the interface of a WebSocket that the link uses. */
export class EventSocket extends EventTarget {
  binaryType = "";
  readonly bufferedAmount = 0;
  private readonly base: URL;
  private readonly session: string;
  private readonly controller = new AbortController();
  /** Messages in order. The first one is under way. */
  private readonly outgoing: OutgoingFrame[] = [];
  private isOpen = false;
  private onPing = (): void => undefined;

  /** @param address - As for a WebSocket. */
  constructor(address: string) {
    super();
    const url = new URL(address.replace(/^ws/, "http"));
    const cursor = url.searchParams.get("resume");
    for (const name of ["resume", "conn"]) url.searchParams.delete(name);
    this.session = url.searchParams.get("session_id") ?? "";
    this.base = url;
    void this.read(cursor).then(
      () => this.end(),
      () => this.end(),
    );
  }

  /** The server keeps the stream alive with comments. */
  on(_: "ping", listener: () => void): void {
    this.onPing = listener;
  }

  send(text: string): void {
    const frame = JSON.parse(text) as OutgoingFrame;
    if (frame.type === "message.stop") return void this.stop(frame);
    // Event streams need no acknowledgements and no pings, and show no typing.
    if (frame.type !== "message.send") return;
    this.outgoing.push(frame);
    if (this.outgoing.length === 1) void this.transmit();
  }

  close(): void {
    this.controller.abort();
  }

  /** The page proves its origin with POST, also without an encrypted connection. */
  private async read(cursor: string | null): Promise<void> {
    const headers: Record<string, string> = cursor === null ? {} : { "last-event-id": cursor };
    const { signal } = this.controller;
    const url = this.at("/events", this.base.search);
    const response = await fetch(url, { method: "POST", headers, signal, cache: "no-store" });
    if (!response.ok || !response.body) return;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      this.onPing();
      const events = (text + value).split("\n\n");
      text = events.pop()!;
      for (const event of events) this.accept(event);
    }
  }

  /** The position is outside of the frame, as the id of the event. */
  private accept(event: string): void {
    const { id = "", data } = Object.fromEntries(
      event.split("\n").map((line) => line.split(/: (.*)/, 2)),
    ) as Readonly<Record<string, string>>;
    if (data === undefined) return;
    if (!this.isOpen) {
      this.isOpen = true;
      this.dispatchEvent(new Event("open"));
    }
    const at = id.lastIndexOf(":");
    const position = `"epoch":${JSON.stringify(id.slice(0, at))},"seq":${id.slice(at + 1)},`;
    this.emit(id === "" ? data : `{${position}${data.slice(1)}`);
  }

  /** Sends the messages one after the other, so that they keep their order. */
  private async transmit(): Promise<void> {
    for (let [frame] = this.outgoing; frame; [frame] = this.outgoing) {
      const { id, payload } = frame;
      const answer = await this.post("/messages", { session_id: this.session, id, ...payload });
      if (!answer) return;
      if (this.outgoing[0] === frame) this.outgoing.shift();
      const { body, status } = answer;
      if (body && status < 300)
        this.report("message.ack", { request_id: id, status: body["status"] });
      else this.reject(id, answer);
    }
  }

  /** A stop concerns the messages before it, also those that have not been sent. */
  private async stop({ id, payload }: OutgoingFrame): Promise<void> {
    const request = payload?.request_id;
    const waiting = this.outgoing.slice(1).filter((one) => one.id === (request ?? one.id));
    for (const one of waiting) {
      this.outgoing.splice(this.outgoing.indexOf(one), 1);
      this.report("error", { request_id: one.id, code: "stopped", message: "" });
    }
    const body = {
      session_id: this.session,
      ...(request !== undefined && { request_id: request }),
    };
    const answer = await this.post("/stop", body);
    if (!answer) return;
    const stopped = answer.status < 300 ? answer.body?.["stopped"] : undefined;
    if (stopped) this.report("stop.ack", { request_id: id, stopped });
    else this.reject(id, answer);
  }

  private reject(id: string | undefined, { status, body }: JsonAnswer): void {
    const message = body?.["message"] ?? `The server rejected the message (HTTP ${status}).`;
    this.report("error", { request_id: id, code: body?.["error"] ?? "internal", message });
  }

  /**
   * Repeats a request until Doorward answers it. The server recognizes a message by its id.
   *
   * @returns Undefined if the connection has ended.
   */
  private async post(path: string, body: object): Promise<JsonAnswer | undefined> {
    const { signal } = this.controller;
    for (let waitMs = minRepeatMs; !signal.aborted; waitMs = Math.min(2 * waitMs, maxRepeatMs)) {
      const answer = await this.request(path, JSON.stringify(body));
      const code = answer.body?.["error"];
      if (code !== undefined && isRejected(answer.status, code)) this.close();
      else if (answer.body || (answer.status >= 400 && answer.status < 500)) return answer;
      else await new Promise((done) => setTimeout(done, waitMs));
    }
    return undefined;
  }

  private async request(path: string, body: string): Promise<JsonAnswer> {
    const headers = { "content-type": "application/json" };
    const { signal } = this.controller;
    try {
      const response = await fetch(this.at(path), { method: "POST", headers, body, signal });
      const answer: unknown = await response.json().catch(() => undefined);
      const isObject = typeof answer === "object" && answer !== null;
      return {
        status: response.status,
        body: isObject ? (answer as JsonAnswer["body"]) : undefined,
      };
    } catch {
      return { status: 0, body: undefined };
    }
  }

  private at(path: string, search = ""): string {
    return `${this.base.origin}${this.base.pathname}${path}${search}`;
  }

  private report(type: string, payload: object): void {
    if (!this.controller.signal.aborted) this.emit(JSON.stringify({ type, payload }));
  }

  private emit(data: string): void {
    this.dispatchEvent(new MessageEvent("message", { data }));
  }

  private end(): void {
    this.controller.abort();
    this.dispatchEvent(new CloseEvent("close", { code: lostCode }));
  }
}
