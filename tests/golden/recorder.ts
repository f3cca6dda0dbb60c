// Records the bytes of connections as lines of text.
import { connect, type Socket } from "node:net";
import { createChunkDecoder, decodeFrames, decodeText, toFrame, type Decoder } from "./frames.ts";
import { Normalizer } from "./golden.ts";

const crlf = "\r\n";
const timeoutMs = 15_000;

/** Headers of a WebSocket handshake, as the example of RFC 6455 has them. */
export const upgrade: readonly string[] = [
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

/** Cuts long JSON after each object, so that a changed object is a changed line. */
function splitLong(line: string): string[] {
  if (line.length < 1_500) return [line];
  const [start = ""] = /^\S*/.exec(line)!;
  return line.replace(/\},(?=["{])/g, `},\n${start}+ `).split("\n");
}

/** A connection. The record shows received lines at the place where the script waits for them,
 *  so their order does not depend on the order in which connections are read. */
export class Peer {
  private readonly socket: Socket;
  private readonly name: string;
  private readonly record: Recording;
  private readonly lines: string[] = [];
  private bytes = Buffer.alloc(0);
  private decode: Decoder | undefined;
  private isClosed = false;
  private wake = (): void => undefined;

  constructor(record: Recording, name: string, socket: Socket) {
    this.record = record;
    this.name = name;
    this.socket = socket;
    socket.on("data", (data: Buffer) => {
      this.bytes = Buffer.concat([this.bytes, data]);
      this.read();
      this.wake();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      if (this.bytes.length > 0) this.lines.push(...this.bytes.toString().split("\n"));
      this.isClosed = true;
      this.wake();
    });
  }

  /** Sends an object as JSON in a text frame, a text as it is, or any bytes, which `note` shows. */
  send(content: object | string | Buffer, note?: string): void {
    const text = typeof content === "string" ? content : JSON.stringify(content);
    this.record.write(`${this.name}> ${note ?? `text ${text}`}`);
    this.socket.write(Buffer.isBuffer(content) ? content : toFrame(text));
  }

  /** Records the head of the response. */
  async head(): Promise<void> {
    await this.wait(() => this.lines.includes(""), "the head of the response");
    this.flush(this.lines.indexOf("") + 1);
  }

  /**
   * Records what arrives, up to the first line that contains this text.
   *
   * @returns That line, as it is.
   */
  async until(text: string): Promise<string> {
    await this.wait(() => this.lines.some((line) => line.includes(text)), text);
    const index = this.lines.findIndex((line) => line.includes(text));
    const line = this.lines[index]!;
    this.flush(index + 1);
    return line;
  }

  /**
   * Records what arrives until the server closes the connection.
   *
   * @returns The lines, as they are.
   */
  async end(): Promise<readonly string[]> {
    await this.wait(() => this.isClosed, "the end of the connection");
    const lines = [...this.lines];
    this.flush(lines.length);
    this.record.write(`${this.name}. closed`);
    return lines;
  }

  /** Closes the socket without a close frame. */
  async cut(): Promise<void> {
    this.flush(this.lines.length);
    this.record.write(`${this.name}. cut`);
    const closed = new Promise((resolve) => this.socket.once("close", resolve));
    this.socket.destroy();
    await closed;
  }

  private read(): void {
    const write = (line: string): void => void this.lines.push(line);
    if (!this.decode) {
      const end = this.bytes.indexOf(crlf + crlf);
      if (end === -1) return;
      const head = this.bytes.toString("latin1", 0, end).split(crlf);
      this.record.foldSecurityHeaders(head).forEach(write);
      // The head of a request: this is the connection of a client that the test serves.
      const isRequest = head[0]?.startsWith("GET ") === true;
      const isUpgraded = isRequest || head[0]?.includes(" 101 ") === true;
      const isChunked = head.some((line) => /^transfer-encoding: chunked$/i.test(line));
      write("");
      this.decode = isUpgraded ? decodeFrames : isChunked ? createChunkDecoder() : decodeText;
      this.bytes = this.bytes.subarray(end + 4);
    }
    this.bytes = Buffer.from(this.decode(this.bytes, write));
  }

  private flush(count: number): void {
    for (const line of this.lines.splice(0, count)) this.record.write(`${this.name}< ${line}`);
  }

  private async wait(isDone: () => boolean, what: string): Promise<void> {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.wake();
    }, timeoutMs);
    try {
      while (!isDone()) {
        if (isLate || this.isClosed)
          throw new Error(
            `${this.name} waits for ${what} and has ${JSON.stringify(this.lines, null, 1)} after\n` +
              this.record.text.slice(-2_000),
          );
        await new Promise<void>((resolve) => (this.wake = resolve));
      }
    } finally {
      clearTimeout(timer);
    }
  }
}

export interface Sent {
  readonly headers?: readonly string[];
  /** An object is sent as JSON. */
  readonly body?: object | string;
  /** The name of the connection in the file. */
  readonly name?: string;
  /** The address of the client. */
  readonly from?: string;
}

/** The record of one script: one line per header, frame or line of a body, of both sides. */
export class Recording {
  private readonly recorded: string[] = [];
  private readonly target: { readonly port: number } | { readonly path: string };
  private readonly normalizer: Normalizer;
  private readonly securityHeaders: string[] = [];

  constructor(
    target: { readonly port: number } | { readonly path: string },
    fixed: Readonly<{ [text: string]: string }>,
  ) {
    this.target = target;
    this.normalizer = new Normalizer(fixed);
  }

  get text(): string {
    return `${this.recorded.join("\n").trim()}\n`;
  }

  /** Shows this name in place of a value. */
  rename(value: string, name: string): void {
    this.normalizer.rename(value, name);
  }

  /** Begins a part of the script. */
  title(text: string): void {
    this.recorded.push("", `# ${text}`);
  }

  write(line: string): void {
    const text = this.normalizer.normalize(line.trimEnd());
    this.recorded.push(...splitLong(text));
  }

  /** Shows each form of the security headers once, because every response has them. */
  foldSecurityHeaders(head: readonly string[]): string[] {
    const start = head.findIndex((line) => /^referrer-policy:/i.test(line));
    const end = head.findIndex((line) => /^permissions-policy:/i.test(line)) + 1;
    if (start === -1 || end <= start) return [...head];
    const block = head.slice(start, end);
    const known = this.securityHeaders.indexOf(block.join("\n"));
    const shown = known === -1 ? block : [`(security headers ${known + 1})`];
    if (known === -1) this.securityHeaders.push(block.join("\n"));
    return [...head.slice(0, start), ...shown, ...head.slice(end)];
  }

  /** Sends a request. The connection stays open for the response. */
  async open(start: string, { headers = [], body, name = "", from }: Sent = {}) {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const json =
      typeof body === "object" && !headers.some((line) => /^content-type:/i.test(line))
        ? ["Content-Type: application/json"]
        : [];
    const length = text === undefined ? [] : [`Content-Length: ${Buffer.byteLength(text)}`];
    const host = headers.some((line) => /^host:/i.test(line)) ? [] : [this.hostLine()];
    const isUpgrade = headers.some((line) => /^upgrade:/i.test(line));
    const lines = [
      `${start} HTTP/1.1`,
      ...host,
      ...headers,
      ...json,
      ...length,
      ...(isUpgrade ? [] : ["Connection: close"]),
    ];
    const socket = connect({
      ...this.target,
      ...(from && { localAddress: from }),
      host: "127.0.0.1",
    } as never);
    await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    if (this.recorded.at(-1)?.startsWith("#") === false) this.recorded.push("");
    const isHandshake = upgrade.every((line) => headers.includes(line));
    const shown = isHandshake
      ? ["(WebSocket handshake)", ...headers.filter((line) => !upgrade.includes(line))]
      : headers;
    for (const line of [start, ...shown, ...json]) this.write(`${name}> ${line}`);
    if (text !== undefined) this.write(`${name}> ${text}`);
    const peer = new Peer(this, name, socket);
    socket.write([...lines, "", text ?? ""].join(crlf));
    return peer;
  }

  /** Sends a request and records the whole response. */
  async ask(start: string, sent: Sent = {}): Promise<readonly string[]> {
    const peer = await this.open(start, sent);
    return peer.end();
  }

  private hostLine(): string {
    return "port" in this.target ? `Host: 127.0.0.1:${this.target.port}` : "Host: localhost";
  }
}
