/* A client of the session's D-Bus: calls, signals, and objects that others call. It serves one connection; whoever
 * wants another one after `closed` opens it. */
import { connect, type Socket } from "node:net";
import type { Release } from "../../../kernel/index.ts";
import type { BusValue } from "./codec.ts";
import { createFraming, encodeMessage, type Message } from "./message.ts";
import { BusError, handleCall, type Objects } from "./objects.ts";

const maxLineBytes = 512;

/** A socket of the bus that has taken us for the user we are: the kernel tells it (EXTERNAL), no secret is sent. */
export async function openSocket(path: string, uid: number, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const socket = connect({ path });
  try {
    await new Promise<void>((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      socket.once("connect", resolve).once("error", reject);
    });
    socket.write(`\0AUTH EXTERNAL ${Buffer.from(String(uid)).toString("hex")}\r\n`);
    const answer = await readLine(socket, signal);
    if (!/^OK [0-9a-f]{32}$/i.test(answer)) throw new Error("the bus refuses this user");
    socket.write("BEGIN\r\n");
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** The bus says nothing more before it is spoken to, so that nothing of what follows is lost. */
function readLine(socket: Socket, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const settle = (run: () => void): void => {
      socket.off("data", heard).off("error", reject).off("close", closed);
      run();
    };
    const heard = (bytes: Buffer): void => {
      text += bytes.toString("latin1");
      if (text.endsWith("\r\n")) settle(() => resolve(text.slice(0, -2)));
      else if (text.length > maxLineBytes)
        settle(() => reject(new Error("the bus answers with too long a line")));
    };
    const closed = (): void => settle(() => reject(new Error("the bus closes the connection")));
    socket.on("data", heard).once("error", reject).once("close", closed);
    signal.addEventListener("abort", () => settle(() => reject(signal.reason as Error)), {
      once: true,
    });
  });
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Paths of Unix sockets where the session's bus may listen, best first; abstract ones begin with a zero byte. Other
 *  transports (tcp, launching a bus) are left out: a desktop session has a socket. */
export function sessionSockets(env: Environment, uid: number | undefined): string[] {
  const given = env["DBUS_SESSION_BUS_ADDRESS"]?.trim();
  if (given) return given.split(";").flatMap((address) => socketsOf(address, env));
  const folder = runtimeFolder(env, uid);
  return folder === undefined ? [] : [`${folder}/bus`];
}

function runtimeFolder(env: Environment, uid: number | undefined): string | undefined {
  return env["XDG_RUNTIME_DIR"] || (uid === undefined ? undefined : `/run/user/${uid}`);
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

/** `%2f` stands for a byte; what is not decodable is no path. */
function unescape(value: string | undefined): string | undefined {
  try {
    const text = value === undefined ? undefined : decodeURIComponent(value);
    return text?.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

export interface BusOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly uid: number;
  readonly objects: Objects;
  readonly after: (ms: number, run: () => void) => Release;
  readonly heard: (signal: Message) => void;
  /** Closes it, also while it is being opened. */
  readonly leaving: AbortSignal;
  /** Called once for a bus that was open, unless it was left. */
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
  /** Rejects with the bus's words, or after ten seconds. */
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
/** Of answers that the bus does not take: it is stuck then. */
const maxUnsentBytes = 8 * 1024 * 1024;
export const busDaemon: BusTarget = {
  destination: "org.freedesktop.DBus",
  path: "/org/freedesktop/DBus",
  interface: "org.freedesktop.DBus",
};

/** Rejects with a sentence's end that says why there is no bus. */
export async function openBus(options: BusOptions): Promise<Bus> {
  const sockets = sessionSockets(options.env, options.uid);
  if (sockets.length === 0) throw new Error("DBUS_SESSION_BUS_ADDRESS names no Unix socket");
  const patience = new AbortController();
  const release = options.after(callTimeoutMs, () =>
    patience.abort(new Error("it does not answer")),
  );
  const signal = AbortSignal.any([patience.signal, options.leaving]);
  let reason: unknown;
  try {
    for (const path of sockets) {
      try {
        return await startSession(await openSocket(path, options.uid, signal), options);
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

async function startSession(
  socket: Socket,
  { objects, after, heard, closed, leaving }: BusOptions,
): Promise<Bus> {
  const waiting = new Map<number, PendingCall>();
  const framing = createFraming();
  let serial = 0;
  let reason = "the bus closed the connection";
  let isOpen = false;

  function send(
    message: Omit<Message, "serial" | "signature" | "body"> & Partial<Message>,
  ): number {
    serial = (serial % 0xffff_ffff) + 1;
    if (socket.writableLength > maxUnsentBytes) end("the bus takes nothing any more");
    else if (!socket.destroyed)
      socket.write(encodeMessage({ signature: "", body: [], ...message, serial }));
    return serial;
  }

  function end(why: string): void {
    reason = why;
    socket.destroy();
  }

  function take(message: Message): void {
    if (message.kind === "signal") return heard(message);
    if (message.kind === "call") return reply(message);
    const call = waiting.get(message.replySerial!);
    if (!call) return;
    waiting.delete(message.replySerial!);
    call.release();
    if (message.kind === "return") call.resolve(message.body);
    else call.reject(new Error(String(message.body[0] ?? message.errorName).slice(0, 300)));
  }

  function reply(call: Message): void {
    const back = {
      replySerial: call.serial,
      noReply: true,
      ...(call.sender ? { destination: call.sender } : {}),
    };
    try {
      const given = handleCall(objects, call);
      if (!call.noReply) send({ kind: "return", ...back, ...given });
    } catch (error) {
      if (call.noReply) return;
      const { reason: name, message } =
        error instanceof BusError ? error : new BusError("Failed", "it did not work");
      const errorName = `org.freedesktop.DBus.Error.${name}`;
      send({ kind: "error", ...back, errorName, signature: "s", body: [message] });
    }
  }

  socket.on("data", (chunk: Buffer) => {
    try {
      for (const message of framing(chunk)) take(message);
    } catch (error) {
      end((error as Error).message);
    }
  });
  socket.on("error", (error) => {
    reason = error.message;
  });
  socket.once("close", () => {
    for (const { reject, release } of waiting.values()) {
      release();
      reject(new Error(reason));
    }
    waiting.clear();
    leaving.removeEventListener("abort", leave);
    if (isOpen && !leaving.aborted) closed(reason);
  });

  const leave = (): void => end("it was left");
  leaving.addEventListener("abort", leave, { once: true });

  function call(
    busTarget: BusTarget,
    member: string,
    signature = "",
    body: readonly BusValue[] = [],
  ): Promise<readonly BusValue[]> {
    return new Promise((resolve, reject) => {
      if (socket.destroyed) return reject(new Error(reason));
      const number = send({ kind: "call", ...busTarget, member, signature, body });
      const release = after(callTimeoutMs, () => {
        waiting.delete(number);
        reject(new Error("there is no answer"));
      });
      waiting.set(number, { resolve, reject, release });
    });
  }

  try {
    leaving.throwIfAborted();
    const [name] = await call(busDaemon, "Hello");
    isOpen = true;
    return {
      name: String(name),
      call,
      signal: (path, name, member, signature = "", body = []) =>
        void send({
          kind: "signal",
          path,
          interface: name,
          member,
          signature,
          body,
          noReply: true,
        }),
    };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}
