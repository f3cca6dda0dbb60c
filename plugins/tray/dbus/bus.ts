// Client of the D-Bus session bus: calls, signals, and objects that other programs call. A bus has
// one connection; open a new bus after `closed`.
import { on, once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Release } from "../../../kernel/index.ts";
import type { Environment } from "../service.ts";
import type { BusValue } from "./codec.ts";
import { createFraming, encodeMessage, type Message } from "./message.ts";
import { BusError, handleCall, type Objects } from "./objects.ts";

const maxLineBytes = 512;

/**
 * Opens a socket and authenticates with EXTERNAL: the operating system tells the bus the user of
 * this process, so no secret is sent.
 */
async function openSocket(path: string, uid: number, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const socket = connect({ path });
  try {
    await once(socket, "connect", { signal });
    socket.write(`\0AUTH EXTERNAL ${Buffer.from(String(uid)).toString("hex")}\r\n`);
    const response = await readLine(socket, signal);
    if (!/^OK [0-9a-f]{32}$/i.test(response)) throw new Error("the bus rejects this user");
    socket.write("BEGIN\r\n");
    return socket;
  } catch (error) {
    socket.destroy();
    throw signal.aborted ? signal.reason : error;
  }
}

/** Loses no data, because the bus sends nothing after this line until it receives a message. */
async function readLine(socket: Socket, signal: AbortSignal): Promise<string> {
  let text = "";
  for await (const [bytes] of on(socket, "data", { signal, close: ["close"] })) {
    text += (bytes as Buffer).toString("latin1");
    if (text.endsWith("\r\n")) return text.slice(0, -2);
    if (text.length > maxLineBytes)
      throw new Error("the bus responds with a line that is too long");
  }
  throw new Error("the bus closes the connection");
}

/**
 * @returns Paths of Unix sockets where the session bus may listen, best first. Abstract ones start
 * with a zero byte. Other transports (tcp, launching a bus) are ignored: desktop sessions have a
 * socket.
 */
export function sessionSockets(env: Environment, uid: number): string[] {
  const addresses = env["DBUS_SESSION_BUS_ADDRESS"]?.trim();
  if (addresses) return addresses.split(";").flatMap((address) => socketsOf(address, env));
  return [`${env["XDG_RUNTIME_DIR"] || `/run/user/${uid}`}/bus`];
}

function socketsOf(address: string, env: Environment): string[] {
  const [transport, rest = ""] = address.split(/:(.*)/s);
  if (transport !== "unix") return [];
  const values = new Map(rest.split(",").map((pair) => pair.split(/=(.*)/s) as [string, string]));
  const path = unescape(values.get("path"));
  const abstract = unescape(values.get("abstract"));
  const runtime = values.get("runtime") === "yes" && env["XDG_RUNTIME_DIR"];
  return [
    ...(path ? [path] : []),
    ...(abstract ? [`\0${abstract}`] : []),
    ...(runtime ? [`${runtime}/bus`] : []),
  ];
}

/** Decodes `%2f`. @returns Undefined if the value is malformed. */
function unescape(value: string | undefined): string | undefined {
  try {
    const text = value === undefined ? undefined : decodeURIComponent(value);
    return text?.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

export interface BusOptions {
  readonly env: Environment;
  readonly uid: number;
  readonly objects: Objects;
  readonly after: (ms: number, run: () => void) => Release;
  readonly onSignal: (signal: Message) => void;
  /** Closes it, also while it is being opened. */
  readonly closing: AbortSignal;
  /** Called once when an open bus closes, except after `closing`. */
  readonly closed: (reason: string) => void;
}
export interface BusTarget {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
}
export interface Bus {
  /** Unique on this bus: `:1.42`. */
  readonly name: string;
  /** Rejects with the error message of the bus, or after ten seconds. */
  call(
    busTarget: BusTarget,
    member: string,
    signature?: string,
    body?: readonly BusValue[],
  ): Promise<readonly BusValue[]>;
  signal(
    path: string,
    name: string,
    member: string,
    signature?: string,
    body?: readonly BusValue[],
  ): void;
}

const callTimeoutMs = 10_000;
/** Maximum of unsent bytes; more means that the bus does not read. */
const maxUnsentBytes = 8 * 1024 * 1024;
export const busDaemon: BusTarget = {
  destination: "org.freedesktop.DBus",
  path: "/org/freedesktop/DBus",
  interface: "org.freedesktop.DBus",
};

/** Rejects with a reason, in lower case and without a period, if there is no bus. */
export async function openBus(options: BusOptions): Promise<Bus> {
  const sockets = sessionSockets(options.env, options.uid);
  if (sockets.length === 0) throw new Error("DBUS_SESSION_BUS_ADDRESS names no Unix socket");
  const timeout = new AbortController();
  const release = options.after(callTimeoutMs, () =>
    timeout.abort(new Error("it does not respond")),
  );
  const signal = AbortSignal.any([timeout.signal, options.closing]);
  let reason: unknown;
  try {
    for (const path of sockets) {
      try {
        const socket = await openSocket(path, options.uid, signal);
        return await BusConnection.open(socket, options);
      } catch (error) {
        reason = error;
      }
    }
    throw reason;
  } finally {
    release();
  }
}

interface PendingCall {
  resolve(body: readonly BusValue[]): void;
  reject(error: Error): void;
  readonly release: Release;
}

type OutgoingMessage = Omit<Message, "serial" | "signature" | "body"> & Partial<Message>;

class BusConnection implements Bus {
  name = "";
  private readonly socket: Socket;
  private readonly options: BusOptions;
  /** Serial number -> call without a reply so far. */
  private readonly pendingCalls = new Map<number, PendingCall>();
  private serial = 0;
  private closeReason = "the bus closed the connection";
  private isOpen = false;

  /** Takes over the socket and registers with the bus. */
  static async open(socket: Socket, options: BusOptions): Promise<Bus> {
    const connection = new BusConnection(socket, options);
    try {
      options.closing.throwIfAborted();
      const [name] = await connection.call(busDaemon, "Hello");
      connection.name = String(name);
      connection.isOpen = true;
      return connection;
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }

  private constructor(socket: Socket, options: BusOptions) {
    this.socket = socket;
    this.options = options;
    const { closing } = options;
    const framing = createFraming();
    const onClosing = (): void => this.close("the tray was closed");
    socket.on("data", (chunk: Buffer) => {
      try {
        for (const message of framing(chunk)) this.onMessage(message);
      } catch (error) {
        this.close((error as Error).message);
      }
    });
    socket.on("error", (error) => {
      this.closeReason = error.message;
    });
    socket.once("close", () => {
      closing.removeEventListener("abort", onClosing);
      this.onClose();
    });
    closing.addEventListener("abort", onClosing, { once: true });
  }

  call(
    busTarget: BusTarget,
    member: string,
    signature = "",
    body: readonly BusValue[] = [],
  ): Promise<readonly BusValue[]> {
    return new Promise((resolve, reject) => {
      if (this.socket.destroyed) return reject(new Error(this.closeReason));
      const serial = this.send({ kind: "call", ...busTarget, member, signature, body });
      const release = this.options.after(callTimeoutMs, () => {
        this.pendingCalls.delete(serial);
        reject(new Error("there is no response"));
      });
      this.pendingCalls.set(serial, { resolve, reject, release });
    });
  }

  signal(
    path: string,
    name: string,
    member: string,
    signature = "",
    body: readonly BusValue[] = [],
  ): void {
    this.send({ kind: "signal", path, interface: name, member, signature, body, noReply: true });
  }

  /** @returns The serial number of the message. */
  private send(message: OutgoingMessage): number {
    this.serial = (this.serial % 0xffff_ffff) + 1;
    const { socket, serial } = this;
    if (socket.writableLength > maxUnsentBytes) this.close("the bus does not read");
    else if (!socket.destroyed)
      socket.write(encodeMessage({ signature: "", body: [], ...message, serial }));
    return serial;
  }

  private close(reason: string): void {
    this.closeReason = reason;
    this.socket.destroy();
  }

  private onMessage(message: Message): void {
    if (message.kind === "signal") return this.options.onSignal(message);
    if (message.kind === "call") return this.reply(message);
    const call = this.pendingCalls.get(message.replySerial!);
    if (!call) return;
    this.pendingCalls.delete(message.replySerial!);
    call.release();
    if (message.kind === "return") call.resolve(message.body);
    else call.reject(new Error(String(message.body[0] ?? message.errorName).slice(0, 300)));
  }

  private reply(call: Message): void {
    const header = {
      replySerial: call.serial,
      noReply: true,
      ...(call.sender ? { destination: call.sender } : {}),
    };
    try {
      const result = handleCall(this.options.objects, call);
      if (!call.noReply) this.send({ kind: "return", ...header, ...result });
    } catch (error) {
      if (call.noReply) return;
      const { reason, message } =
        error instanceof BusError ? error : new BusError("Failed", "the method failed");
      const errorName = `org.freedesktop.DBus.Error.${reason}`;
      this.send({ kind: "error", ...header, errorName, signature: "s", body: [message] });
    }
  }

  private onClose(): void {
    for (const { reject, release } of this.pendingCalls.values()) {
      release();
      reject(new Error(this.closeReason));
    }
    this.pendingCalls.clear();
    const { closing, closed } = this.options;
    if (this.isOpen && !closing.aborted) closed(this.closeReason);
  }
}
