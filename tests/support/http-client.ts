import { connect, Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Http } from "../../plugins/http/index.ts";

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function parseAnswer(text: string): RawAnswer {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const [start = "", ...lines] = head.split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(":")).toLowerCase(),
      line.slice(line.indexOf(":") + 1).trim(),
    ]),
  );
  return { status: Number(start.split(" ")[1]), headers, body: rest.join("\r\n\r\n") };
}

export const portOf = (http: Http): number => Number(http.addresses()[0]!.port);

/** Sends raw bytes and reads until the server closes the connection. */
export function raw(port: number, bytes: string | Buffer, tls = false): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const options = { port, host: "127.0.0.1", rejectUnauthorized: false };
    const socket: Socket = tls ? connectTls(options) : connect(options);
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", (error) => (chunks.length > 0 ? undefined : reject(error)));
    socket.on("close", () => resolve(parseAnswer(Buffer.concat(chunks).toString("latin1"))));
    socket.write(bytes);
  });
}

/** Sends a GET over a plain socket and closes the connection after the response. */
export const get = (
  port: number,
  target: string,
  lines: readonly string[] = ["Host: localhost"],
): Promise<RawAnswer> =>
  raw(port, [`GET ${target} HTTP/1.1`, ...lines, "Connection: close", "", ""].join("\r\n"));

/** Holds all socket writes of this process until the test releases them, like a stalled network. */
export function heldWrites(): Disposable & { release(): void } {
  type Write = (this: Socket & { readonly server?: unknown }, ...rest: unknown[]) => void;
  const type = Socket.prototype as unknown as { _write: Write; _writev: Write };
  const { _write, _writev } = type;
  let held: (() => void)[] | undefined = [];
  const holding = (write: Write): Write =>
    function hold(...rest) {
      if (held && this.server) held.push(() => write.apply(this, rest));
      else write.apply(this, rest);
    };
  Object.assign(type, { _write: holding(_write), _writev: holding(_writev) });
  const release = (): void => {
    const writes = held;
    held = undefined;
    for (const write of writes ?? []) write();
  };
  return {
    release,
    [Symbol.dispose]() {
      Object.assign(type, { _write, _writev });
      release();
    },
  };
}

/** Counts milliseconds in steps and skips time in which this process was suspended. */
export function stopwatch(): () => number {
  let ms = 0;
  const timer = setInterval(() => {
    ms += 10;
  }, 10);
  return () => {
    clearInterval(timer);
    return ms;
  };
}

/** Security headers of every response. */
export const safety = {
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self'; " +
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
    "require-trusted-types-for 'script'; trusted-types 'none'",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
};
