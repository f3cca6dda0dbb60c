/** Connects a conversation of the page to the channel. @module */
import {
  connect,
  type Client,
  type ChatHandlers,
  type SocketConstructor,
} from "../../../../../lib/pico-link/browser.ts";
import type { HandshakeView, StatusView } from "../../../shared/views.ts";
import { sendRequest } from "../../live/api.ts";
import { base } from "../../live/base.ts";
import { requestAsOwner } from "../../live/owner.ts";
import { channelProblemOf } from "../../../shared/channel-problem.ts";
import { EventSocket } from "./event-socket.ts";

/** Handlers of a link, and one for the raw frames. */
interface ChatLinkHandlers extends ChatHandlers {
  /** Receives every text frame in both directions. */
  readonly onRaw: (direction: "in" | "out", text: string) => void;
}

/** A proxy removes `Upgrade`. */
let prefersEvents = false;

/** Connects by event streams from now on, until the page is loaded again. */
export function preferEvents(): void {
  prefersEvents = true;
}
/** True if the next connection is an event stream. */
export const usesEvents = (): boolean => prefersEvents;

/** Opens a link to the channel. The server authenticates it by the sign-in cookie. */
export const openLink = (session: string, { onRaw, ...handlers }: ChatLinkHandlers): Client =>
  connect({
    url: `${base()}/pico?pico_can=append,notices,questions,stop,turns,waiting`,
    token: "",
    sessionId: session,
    WebSocket: observedSocket(onRaw),
    fetch: probe,
    ...handlers,
  });

/**
 * Asks the dashboard about the channel, since the channel accepts the sign-in cookie for its
 * connections only. A signed-out user is asked to sign in.
 *
 * @returns Status 200 and an empty reason without a problem; 0 if the server is not available.
 */
export async function channelProblem(): Promise<{ status: number; reason: string }> {
  const path = "/api/status";
  const answer = await sendRequest<StatusView>("GET", path);
  if ("error" in answer) {
    const { status, code, message } = answer.error;
    // The link must not wait for the dialog: its attempt would end late.
    if (status === 401) void requestAsOwner("GET", path);
    return { status, reason: code ?? message };
  }
  const { channel } = answer.body;
  const reason = channelProblemOf(channel);
  if (!channel || reason) return { status: 404, reason: reason ?? "" };
  const isFull = channel.connections >= channel.maxConnections;
  return isFull ? { status: 503, reason: "too_many_connections" } : { status: 200, reason: "" };
}

/** The answer of the server about the last failed handshake. */
let rejected: HandshakeView = {};

/** @returns What is wrong with the connection and how to fix it, if the server knows the reason. */
export const rejectionWhy = (reason: string): string | undefined =>
  reason === rejected.code ? rejected.why : undefined;

/** Asks why the handshake failed, which a browser does not tell. */
async function handshakeProblem(): Promise<HandshakeView> {
  const answer = await sendRequest<HandshakeView>("POST", "/api/handshake");
  if ("body" in answer) return answer.body;
  const { code, message, hint } = answer.error;
  return code === undefined ? {} : { code, why: hint ? `${message} To fix it, ${hint}.` : message };
}

/** HTTP status that a program would have received with the code. Others are temporary. */
const statusByCode: Readonly<Record<string, number>> = {
  sign_in_rejected: 401,
  origin_not_allowed: 403,
  upgrade_required: 426,
};

/** Finds out why a handshake failed. */
async function probe(): Promise<Response> {
  const { status, reason } = await channelProblem();
  if (status === 0) throw new Error(reason);
  if (status !== 200) return Response.json({ error: reason }, { status });
  rejected = await handshakeProblem();
  const { code } = rejected;
  if (code === undefined) return Response.json({});
  return Response.json({ error: code }, { status: statusByCode[code] ?? 503 });
}

/** Returns a constructor of sockets that report every text frame. */
function observedSocket(onRaw: ChatLinkHandlers["onRaw"]): SocketConstructor {
  return function createSocket(url: string) {
    const socket = prefersEvents ? new EventSocket(url) : new WebSocket(url);
    socket.addEventListener("message", (event) => {
      const { data } = event as MessageEvent<ArrayBuffer | string>;
      if (typeof data === "string") onRaw("in", data);
    });
    const send = socket.send.bind(socket);
    socket.send = (text: string): void => {
      onRaw("out", text);
      send(text);
    };
    return socket;
  } as unknown as SocketConstructor;
}
