// A channel for the chat page that echoes messages.
import type { Server } from "node:http";
import { WebSocketServer, type WebSocket } from "ws";

export interface SampleChannel {
  /** Requested URLs: path and query. */
  readonly dialled: string[];
  /** Frames sent by the page. */
  readonly heard: { type: string; id?: string; payload?: Record<string, unknown> }[];
  /** Sends a frame to every connected page. */
  send(frame: object): void;
  cut(code: number, reason?: string): void;
  /** False: messages are not acknowledged. */
  acknowledges: boolean;
  /** False: messages are acknowledged and not answered. */
  echoes: boolean;
  /** Set: messages are rejected with this error. */
  rejects: { readonly code: string; readonly message: string } | undefined;
  /** Rejects handshakes until the caller calls the returned function. */
  refuse(): () => void;
  /** Delays handshakes until the caller calls the returned function. */
  hold(): () => void;
  close(): void;
}

const epoch = "e1";

/**
 * Starts a channel of extension 1 that sends hello, acknowledges each message, echoes it and reports
 * the end of the answer.
 */
export function sampleChannel(server: Server, path: string): SampleChannel {
  let isOpen = Promise.resolve();
  let isOff = false;
  const verifyClient = (_: unknown, answer: (isIn: boolean, status?: number) => void): void =>
    void isOpen.then(() => answer(!isOff, 404));
  const sockets = new WebSocketServer({ server, path, verifyClient });
  const dialled: string[] = [];
  const heard: SampleChannel["heard"] = [];
  let seq = 0;
  const say = (socket: WebSocket, frame: object): void => socket.send(JSON.stringify(frame));
  sockets.on("connection", (socket, request) => {
    dialled.push(request.url ?? "");
    const resumed = request.url?.includes("resume=") === true;
    const hello = { conn_id: "conn", session_id: "s", epoch, seq, replay: 0, resumed, gap: false };
    const can = new URL(request.url ?? "", "http://site").searchParams.get("pico_can");
    say(socket, { type: "hello", payload: { ...hello, ...(can && { can: can.split(",") }) } });
    socket.on("message", (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as SampleChannel["heard"][number];
      heard.push(frame);
      if (frame.type !== "message.send") return;
      if (channel.rejects) {
        const error = { ...channel.rejects, request_id: frame.id };
        return say(socket, { type: "error", payload: error });
      }
      if (!channel.acknowledges) return;
      say(socket, { type: "message.ack", payload: { request_id: frame.id, status: "accepted" } });
      if (!channel.echoes) return;
      const payload = {
        message_id: `m${++seq}`,
        request_id: frame.id,
        content: `echo: ${String(frame.payload?.["content"])}`,
        final: true,
      };
      say(socket, { type: "message.create", seq, epoch, payload });
      const end = { request_id: frame.id, outcome: "completed", finish_reason: "stop" };
      say(socket, { type: "answer.end", payload: end });
    });
  });
  const channel: SampleChannel = {
    acknowledges: true,
    echoes: true,
    rejects: undefined,
    dialled,
    heard,
    send: (frame) => sockets.clients.forEach((socket) => say(socket, frame)),
    cut: (code, reason) => sockets.clients.forEach((socket) => socket.close(code, reason)),
    refuse() {
      isOff = true;
      return () => {
        isOff = false;
      };
    },
    hold() {
      let release = (): void => undefined;
      isOpen = new Promise((open) => {
        release = open;
      });
      return () => release();
    },
    close: () => sockets.clients.forEach((socket) => socket.terminate()),
  };
  return channel;
}
