/** A small WebSocket channel for the tests of the conformance rules. A mutation breaks one part. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocket, WebSocketServer } from "ws";
import { codeOf } from "../../kernel/index.ts";
import {
  defineChannel,
  type ChannelHandle,
  type ChannelToken,
} from "../../plugins/channels/index.ts";
import { createQueue, type Peer, type PeerEvent, type Stranger } from "../../testkit/index.ts";
import { forged, type Said } from "./tcp-channel.ts";

/** Mutation -> the mistake of the channel. */
export const wsMutations = {
  anonymous: "accepts requests without a token",
  logsHeaders: "logs the headers of requests",
  logsRejected: "logs a token that it rejects",
  keepsClients: "keeps the clients of a replaced token",
  readsTokenOnce: "compares with the token that it read at its start",
  spreadsFrame: "copies all fields of a frame into the message",
  nameFromFrame: "takes the name of the sender from the frame",
  sessionFromFrame: "takes the session from the frame",
  endlessFrame: "accepts frames of any length",
  newestOnly: "sends messages to the newest client of a session only",
  updatesNewest: "sends updates to the newest client of a session only",
  idleEarly: "reports a session as idle when the first of its clients leaves",
  listensEarly: "listens in its start()",
  sharedSessions: "keeps its sessions in a variable of the module",
  readsOn: "reads frames while it checks the token",
  idsPerClient: "counts the messages of each client from one",
  openServer: "leaves its server open",
  answersForOwner: "lets a frame name who answers a question",
} as const;

export type WsMutation = keyof typeof wsMutations;

export const wsToken = "ws-correct-horse-battery-staple";
const maxPayload = 64 * 1024;

const parse = (text: string): Said | undefined => {
  try {
    return JSON.parse(text) as Said;
  } catch {
    return undefined;
  }
};

const shared = new Map<string, Set<WebSocket>>();

/** Takes the frames of a client. */
function createReader(channel: ChannelHandle, report: (session: string, error: unknown) => void) {
  const start = randomUUID();
  return (session: string, text: string, count: number, mutation?: WsMutation): void => {
    const frame = parse(text);
    if (typeof frame?.typing === "boolean") channel.typing(session, frame.typing);
    if (typeof frame?.press === "string") {
      const by = mutation === "answersForOwner" ? frame.by : undefined;
      const option = { option: String(frame.option) };
      channel.answer(session, frame.press, option, by ?? { id: session }).catch(() => undefined);
    }
    if (typeof frame?.say !== "string") return;
    const id = mutation === "idsPerClient" ? `${start} ${count}` : randomUUID();
    channel
      .deliver({ session, id, content: frame.say, ...forged(frame, session, mutation) })
      .catch((error: unknown) => report(session, error));
  };
}

/** Checks the token of a request. */
function createCheck(token: ChannelToken, mutation?: WsMutation) {
  const first = token.reveal();
  return async (candidate: string): Promise<boolean> => {
    if (mutation === "anonymous" && candidate === "") return true;
    if (mutation === "readsTokenOnce") return candidate === first;
    return (await token.verify(candidate)) !== false;
  };
}

/** Creates the channel. The token is in the header Authorization, the session in the address. */
export const ws = (mutation?: WsMutation) =>
  defineChannel({
    name: "ws_test",
    token: true,
    async start({ attach, token, log, onReady, onStop }) {
      const sessions = mutation === "sharedSessions" ? shared : new Map<string, Set<WebSocket>>();
      const accepts = createCheck(token, mutation);
      function write(session: string, frame: object, isUpdate = false): boolean {
        const clients = [...(sessions.get(session) ?? [])];
        const isNewest = mutation === "newestOnly" || (mutation === "updatesNewest" && isUpdate);
        for (const client of isNewest ? clients.slice(-1) : clients)
          client.send(JSON.stringify(frame));
        return clients.length > 0;
      }
      const sent = (id: string, isWritten: boolean) =>
        ({ id, status: isWritten ? "written" : "undelivered" }) as const;
      const report = (session: string, error: unknown): void =>
        void write(session, { what: "error", code: codeOf(error) });
      const channel = attach({
        send: (session, id, { content, kind, inReplyTo }) =>
          sent(id, write(session, { what: "create", id, content, kind, inReplyTo })),
        update: (session, id, { content, final }) =>
          sent(id, write(session, { what: "update", id, content, final }, true)),
        remove: (session, id) => sent(id, write(session, { what: "remove", id })),
        typing: (session, on) => void write(session, { what: "typing", on }),
        failed: (session, _, error) => report(session, error),
      });
      const read = createReader(channel, report);
      const sockets = new WebSocketServer({
        noServer: true,
        ...(mutation !== "endlessFrame" && { maxPayload: 4 * maxPayload }),
      });
      const all = new Set<WebSocket>();
      let joined = 0;
      function join(session: string, client: WebSocket): void {
        const clients = sessions.get(session) ?? new Set();
        sessions.set(session, clients.add(client));
        client.on("close", () => {
          clients.delete(client);
          if (clients.size === 0) sessions.delete(session);
          if (clients.size === 0 || mutation === "idleEarly") channel.sessionIdle(session);
        });
      }
      const server = createServer((_, response) => void response.writeHead(426).end());
      server.on("upgrade", async (request: IncomingMessage, socket, head) => {
        socket.on("error", () => undefined);
        if (mutation === "logsHeaders") log.debug({ headers: request.headers }, "a request");
        const candidate = request.headers.authorization?.slice("Bearer ".length) ?? "";
        const wanted = new URL(request.url ?? "/", "http://host").searchParams.get("session");
        const session = wanted ?? `s${(joined += 1)}`;
        const isOpen = mutation === "readsOn" ? accepts(candidate) : await accepts(candidate);
        if (isOpen === false) {
          if (mutation === "logsRejected") log.warn({ candidate }, "rejected a token");
          return void socket.end("HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n");
        }
        sockets.handleUpgrade(request, socket, head, (client) => {
          let count = 0;
          all.add(client);
          client.on("close", () => all.delete(client)).on("error", () => undefined);
          client.on("message", (data) => read(session, String(data), (count += 1), mutation));
          void Promise.resolve(isOpen).then((isRight) => {
            if (!isRight) return client.close(1008);
            join(session, client);
            client.send(JSON.stringify({ session }));
          });
        });
      });
      token.onReplaced(() => {
        if (mutation !== "keepsClients") for (const client of all) client.terminate();
      });
      const listen = () => once(server.listen(0, "127.0.0.1"), "listening");
      onStop(async () => {
        for (const client of all) client.terminate();
        if (mutation === "openServer") return void server.unref();
        server.closeAllConnections();
        if (server.listening) await new Promise((resolve) => void server.close(resolve));
      });
      if (mutation === "listensEarly") await listen();
      onReady(async () => {
        if (mutation !== "listensEarly") await listen();
        return () => undefined;
      });
      return { port: () => (server.address() as AddressInfo).port };
    },
  });

async function open(port: number, token: string, session?: string) {
  const query = session === undefined ? "" : `?session=${encodeURIComponent(session)}`;
  const headers = { authorization: `Bearer ${token}` };
  const client = new WebSocket(`ws://127.0.0.1:${port}/${query}`, { headers });
  const events = createQueue<PeerEvent>(60_000);
  client.on("message", (data) => events.push(JSON.parse(String(data)) as PeerEvent));
  client.on("close", () => events.end(() => new Error("the channel closed the connection")));
  client.on("error", () => undefined);
  const write = (frame: object): void => client.send(JSON.stringify(frame));
  return { client, events, write };
}

/** Connects a client with the right token. */
export async function joinWs(port: number, wanted?: string): Promise<Peer> {
  const { client, events, write } = await open(port, wsToken, wanted);
  const { session } = (await events.next("the session")) as unknown as { session: string };
  return {
    session,
    say: (say) => write({ say }),
    typing: (typing) => write({ typing }),
    press: (press, { id }) => write({ press, option: id }),
    another: () => joinWs(port, session),
    next: () => events.next("an event"),
    async leave() {
      client.close();
      if (client.readyState !== WebSocket.CLOSED) await once(client, "close");
    },
  };
}

/** Connects a client with a wrong token. */
export async function intrudeWs(port: number): Promise<Stranger> {
  const { client, write } = await open(port, "wrong-token-of-the-same-kind");
  await once(client, "open");
  return { say: (say) => write({ say }) };
}
