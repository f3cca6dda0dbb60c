/** A small TCP channel for the tests of the conformance rules. A mutation breaks one part of it. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { StringDecoder } from "node:string_decoder";
import { codeOf, type Log, type Plugin } from "../../kernel/index.ts";
import type {
  ChannelAdapter,
  ChannelHandle,
  Channels,
  Message,
  Sender,
} from "../../plugins/channels/index.ts";
import type { Tokens, TokenSecrets, TokenStoreEvents } from "../../plugins/token-store/index.ts";
import { createQueue, type Peer, type PeerEvent, type Stranger } from "../../testkit/index.ts";

/** Mutation -> the mistake of the channel. */
export const mutations = {
  openListener: "leaves its listener open",
  openInterval: "does not clear its interval",
  anyToken: "accepts any token",
  silentLeave: "never reports that a session is idle",
  noFinal: "never sends `final`",
  noFailed: "has no failed()",
  claimsDelivery: "claims `delivered` without an acknowledgement",
  deafToTyping: "ignores that a peer is typing",
  noKind: "drops `kind` and `inReplyTo`",
  throwsOnDead: "throws when it sends to a dead socket",
  keepsDead: "keeps dead sockets",
  cutsLong: "cuts texts at 30,000 characters",
  waitsForIdle: "waits at its stop for idle connections without a token",
  keepsInlet: "does not detach its adapter",
  deliversTwice: "delivers every message twice",
  oneId: "gives every message the same id",
  trimsText: "trims incoming texts",
  secondsTime: "gives the time in seconds",
  splitsBytes: "decodes each chunk of bytes on its own",
  reversesOrder: "delivers the messages of a chunk in reverse order",
  ownIds: "sends messages under ids of its own",
  broadcasts: "sends messages to all sessions",
  claimsWritten: "reports messages without peers as written",
  hidesErrors: "does not report rejected messages",
  newOnUpdate: "sends an update as a new message",
  dropsUpdates: "drops updates",
  ignoresRemove: "does not remove messages",
  typingStays: "never hides the typing indicator",
  repeatsIds: "counts its sessions and messages from one again after a restart",
  newestOnly: "sends messages to the newest client of a session only",
  idleEarly: "reports a session as idle when the first of its clients leaves",
  listensEarly: "listens in its start()",
  sharedSessions: "keeps its sessions in a variable of the module",
  sharedInlet: "keeps its inlet in a variable of the plugin",
  decodesChunks: "decodes the bytes of each segment on their own",
  needsWholeLines: "takes each segment for whole lines",
  oneLinePerSegment: "reads the first line of a segment only",
  takesEarly: "takes messages before the token",
  queuesEarly: "keeps messages before the token, and delivers them after it",
  showsToAll: "sends messages to connections without a token as well",
  endlessLine: "keeps a line without an end",
  noQuestionText: "shows the buttons of a question without its text",
  firstButton: "takes each button for the first one",
  lastPress: "answers a question with the last of several presses",
  newestQuestion: "answers the newest question of the session, from any button",
  anySession: "answers questions of other sessions",
  keepsCards: "does not show the answer of a question",
  logsToken: "logs the token of a connection",
  sharedRest: "keeps the unfinished line of all connections in one variable",
  firstOnly: "sends messages to the first client of a session only",
  updatesNewest: "sends updates to the newest client of a session only",
  kicksFirst: "closes the first client of a session when another one connects",
  forgetsSession: "forgets a session when the first of its clients leaves",
  idsPerClient: "counts the messages of each connection from one",
  idsByText: "makes the id of a message from its text",
  idsByTime: "makes the id of a message from the time",
  readsOn: "reads on while it checks the token",
  acceptsEmpty: "accepts a connection without a token",
  acceptsPrefix: "accepts the beginning of the token",
  spreadsFrame: "copies all fields of a frame into the message",
  senderFromFrame: "takes the sender from the frame",
  nameFromFrame: "takes the name of the sender from the frame",
  sessionFromFrame: "takes the session from the frame",
  timeFromFrame: "takes the time from the frame",
  logsAttempt: "logs a token that it rejects",
  logsLine: "logs a line that is not JSON",
  keepsClients: "keeps the clients of a replaced token",
  cachesToken: "compares with the token that it read at its start",
  remembersToken: "accepts a token that was right before",
  oneToken: "accepts no token after the first one was replaced",
  endlessFirst: "bounds a line only after the token",
  endlessLater: "bounds a line only before the token",
  boundsSegments: "bounds each segment instead of the line",
  sharedTaking: "keeps in the module whether it is ready",
  closesTwin: "keeps its sockets in the module, and closes all at its stop",
  errorsToAll: "reports errors to all sessions",
  removesForAll: "removes messages in all sessions",
  typesForAll: "shows typing in all sessions",
  sharedCount: "keeps the number of messages in the module, and begins again at a start",
} as const;

/** The name of a mutation. */
export type Mutation = keyof typeof mutations;

export const tcpToken = "tcp-correct-horse-battery-staple";
const authenticationMs = 5_000;
const maxLineLength = 1_000_000;

type Frame = Readonly<Record<string, unknown>>;
type TcpShape = {
  listens: Pick<TokenStoreEvents, "token-store:rotated">;
  needs: { channels: Channels; tokens: Tokens; tokenSecrets: TokenSecrets };
  offers: { tcp: { port: () => number } };
};

/** The sockets that have given the token, by session. */
class Connections {
  private readonly bySession = new Map<string, Set<Socket>>();
  private readonly all = new Set<Socket>();
  private readonly mutation: Mutation | undefined;

  constructor(mutation: Mutation | undefined) {
    this.mutation = mutation;
  }

  accept(socket: Socket): void {
    if (this.mutation !== "waitsForIdle") this.all.add(socket);
    socket.on("close", () => this.all.delete(socket));
  }

  join(session: string, socket: Socket, left: () => void): void {
    this.all.add(socket);
    const others = [...(this.bySession.get(session) ?? [])];
    if (this.mutation === "kicksFirst") for (const other of others) other.destroy();
    const isAlone = this.mutation === "newestOnly" || !this.bySession.has(session);
    if (isAlone) this.bySession.set(session, new Set());
    const sockets = this.bySession.get(session)!.add(socket);
    socket.on("close", () => {
      if (["keepsDead", "throwsOnDead"].includes(this.mutation!)) return left();
      sockets.delete(socket);
      if (sockets.size === 0 || this.mutation === "forgetsSession") this.bySession.delete(session);
      if (sockets.size > 0 && this.mutation !== "idleEarly") return;
      if (this.mutation !== "silentLeave") left();
    });
  }

  /** @returns False if the session has no connection. */
  write(session: string, frame: Frame): boolean {
    const own = [...(this.bySession.get(session) ?? [])];
    if (this.mutation === "firstOnly") own.splice(1);
    if (this.mutation === "updatesNewest" && frame["what"] === "update")
      own.splice(0, own.length - 1);
    if (this.mutation === "throwsOnDead" && own.some(({ destroyed }) => destroyed))
      throw new Error("socket is closed");
    const known = [...this.bySession.values()].flatMap((sockets) => [...sockets]);
    const strangers = [...this.all].filter((socket) => !known.includes(socket));
    const all = { broadcasts: known, showsToAll: [...own, ...strangers] };
    const kinds = { errorsToAll: "error", removesForAll: "remove", typesForAll: "typing" };
    if (kinds[this.mutation as keyof typeof kinds] === frame["what"])
      for (const socket of known.filter((each) => !own.includes(each)))
        socket.write(`${JSON.stringify(frame)}\n`);
    for (const socket of all[this.mutation as keyof typeof all] ?? own)
      socket.write(`${JSON.stringify(frame)}\n`);
    return own.length > 0;
  }

  close(): void {
    for (const socket of this.all) socket.destroy();
  }
}

/** Answers questions. A press that does not count is ignored. */
function createPresses(inlet: () => ChannelHandle, mutation: Mutation | undefined) {
  /** Message -> its session and its last press. */
  const cards = new Map<string, { session: string; option: string }>();
  let newest = "";
  return {
    shown(session: string, id: string): void {
      cards.set(id, { session, option: "" });
      newest = id;
    },
    press(session: string, id: string, option: string): void {
      const card = cards.get(id);
      if (!card) return;
      const answer = (): void => {
        const chosen = { firstButton: "yes", lastPress: card.option }[mutation as string] ?? option;
        void inlet()
          .answer(
            mutation === "anySession" ? card.session : session,
            mutation === "newestQuestion" ? newest : id,
            { option: chosen },
            { id: session },
          )
          .catch(() => undefined);
      };
      card.option = option;
      if (mutation === "lastPress") setTimeout(answer, 200);
      else answer();
    },
  };
}

type Presses = ReturnType<typeof createPresses>;

function createAdapter(
  connections: Connections,
  mutation: Mutation | undefined,
  presses: Presses,
): ChannelAdapter {
  let count = 0;
  const ownId = (id: string): string => (mutation === "ownIds" ? `own-${(count += 1)}` : id);
  const cut = (text: string): string => (mutation === "cutsLong" ? text.slice(0, 30_000) : text);
  function write(session: string, id: string, frame: Frame) {
    const isWritten = connections.write(session, frame) || mutation === "claimsWritten";
    const written = mutation === "claimsDelivery" ? "delivered" : "written";
    return { id, status: isWritten ? written : "undelivered" } as const;
  }
  const adapter: ChannelAdapter = {
    name: "tcp",
    send(session, id, { content, kind, inReplyTo, question }) {
      if (question) presses.shown(session, id);
      return write(session, id, {
        what: "create",
        id: ownId(id),
        content: question && mutation === "noQuestionText" ? "?" : cut(content),
        ...(question && { buttons: question.options?.map((option) => option.id) }),
        ...(mutation !== "noKind" && { kind, inReplyTo }),
      });
    },
    update(session, id, { content, final, question }) {
      if (question && mutation === "keepsCards") return { id, status: "written" };
      if (mutation === "dropsUpdates") return { id, status: "written" };
      const what = mutation === "newOnUpdate" ? "create" : "update";
      return write(session, id, { what, id, content, ...(mutation !== "noFinal" && { final }) });
    },
    remove: (session, id) =>
      mutation === "ignoresRemove"
        ? { id, status: "written" }
        : write(session, id, { what: "remove", id }),
    typing(session, on) {
      if (on || mutation !== "typingStays") connections.write(session, { what: "typing", on });
    },
    failed: (session, _, error) =>
      void connections.write(session, { what: "error", code: codeOf(error) }),
  };
  if (mutation !== "noFailed") return adapter;
  const { failed: _, ...rest } = adapter;
  return rest;
}

interface Reader {
  readonly inlet: () => ChannelHandle;
  readonly presses: Presses;
  readonly now: () => number;
  readonly mutation: Mutation | undefined;
  readonly connections: Connections;
  readonly isTaking: () => boolean;
  readonly log: Log;
}

export interface Said {
  readonly say?: string;
  readonly typing?: boolean;
  readonly press?: string;
  readonly option?: string;
  readonly session?: string;
  readonly sender?: Sender;
  readonly by?: Sender;
  readonly name?: string;
  readonly at?: number;
}

/** Variables of a module, which all kernels of the process share. */
const module = { rest: "", isTaking: false, count: 0, sockets: new Set<Socket>() };

/** @returns Fields that a mutation copies from the frame of a client. */
export function forged(frame: Said, session: string, mutation?: string): Partial<Message> {
  const { session: named, sender, name, at } = frame;
  if (mutation === "spreadsFrame") return frame as never;
  if (mutation === "senderFromFrame" && sender) return { sender };
  if (mutation === "nameFromFrame" && name) return { sender: { id: session, name } };
  if (mutation === "sessionFromFrame" && named) return { session: named };
  return mutation === "timeFromFrame" && at !== undefined ? { at } : {};
}

/** Reads the lines of a session that has given the token. */
function createLineReader({ inlet, presses, now, mutation, connections, isTaking, log }: Reader) {
  let count = 0;
  const start = randomUUID();
  const ids = {
    oneId: () => "one",
    repeatsIds: () => `m${count}`,
    idsByText: (text: string) => `${start} ${text}`,
    idsByTime: () => `${now()}`,
    sharedCount: () => `m${(module.count += 1)}`,
  };
  return (session: string, line: string, number: number): void => {
    let frame: Said;
    try {
      frame = JSON.parse(line) as Said;
    } catch {
      if (mutation === "logsLine") log.warn({ line }, "this line is not JSON");
      return;
    }
    const { say, typing, press, option } = frame;
    if (press !== undefined) presses.press(session, press, String(option));
    if (typing !== undefined && mutation !== "deafToTyping") inlet().typing(session, typing);
    if (say === undefined || !isTaking()) return;
    count += 1;
    const makeId = ids[mutation as keyof typeof ids] ?? (() => randomUUID());
    const message = {
      channel: "tcp",
      session,
      id: mutation === "idsPerClient" ? `${start} ${number}` : makeId(say),
      content: mutation === "trimsText" ? say.trim() : say,
      media: [],
      at: mutation === "secondsTime" ? Math.floor(now() / 1_000) : now(),
      hops: 0,
      ...forged(frame, session, mutation),
    };
    const report = (error: unknown): void => {
      const frame = { what: "error", code: codeOf(error) };
      if (mutation !== "hidesErrors") connections.write(session, frame);
    };
    inlet().deliver(message).catch(report);
    if (mutation === "deliversTwice") inlet().deliver(message).catch(report);
  };
}

/** Calls `take` with each line of the socket. `readline` also ends lines at U+2028. */
function readLines(
  socket: Socket,
  take: (line: string) => void,
  mutation?: Mutation,
  isBound = (): boolean => true,
): void {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  socket.on("data", (bytes: Buffer) => {
    if (mutation === "sharedRest") rest = module.rest;
    let text = "";
    if (mutation === "splitsBytes")
      for (let at = 0; at < bytes.length; at += 5) text += bytes.subarray(at, at + 5).toString();
    else text = mutation === "decodesChunks" ? bytes.toString() : decoder.write(bytes);
    rest += text;
    const lines = text.includes("\n") ? rest.split("\n") : [rest];
    rest = lines.pop()!;
    if (mutation === "sharedRest") module.rest = rest;
    const length = mutation === "boundsSegments" ? bytes.length : rest.length;
    if (length > maxLineLength && mutation !== "endlessLine" && isBound())
      return void socket.destroy();
    if (mutation === "needsWholeLines") rest = "";
    if (mutation === "oneLinePerSegment" && lines[0]?.includes("say")) lines.splice(1);
    if (mutation === "reversesOrder" && lines[0]?.includes("say")) lines.reverse();
    for (const line of lines) take(line);
  });
}

/** Returns the check of a token. */
function createTokenCheck(
  { tokens, tokenSecrets }: TcpShape["needs"],
  mutation: Mutation | undefined,
): (token: string) => Promise<boolean> {
  const first = tokenSecrets.reveal("tcp")!;
  const known = new Set<string>();
  return async (token) => {
    if (mutation === "acceptsEmpty" && token === "") return true;
    if (mutation === "acceptsPrefix" && token !== "" && first.startsWith(token)) return true;
    if (mutation === "cachesToken") return token === first;
    if (mutation === "remembersToken" && known.has(token)) return true;
    if (mutation === "oneToken" && tokens.info("tcp").version > 1) return false;
    const isRight = (await tokens.verify("tcp", token)) !== false;
    if (isRight) known.add(token);
    return isRight;
  };
}

/** Creates the channel. The first line of a connection is its token, and a session to return to. */
export function tcp(mutation?: Mutation): Plugin<TcpShape> {
  const shared: { inlet?: ChannelHandle } = {};
  const sharedConnections = new Connections(mutation);
  return {
    name: "tcp",
    api: 1,
    needs: { channels: true, tokens: true, tokenSecrets: true },
    async start({ needs, clock, after, log, on, onReady, onStop }) {
      await needs.tokens.claim("tcp");
      if (mutation === "sharedCount") module.count = 0;
      const accepts = createTokenCheck(needs, mutation);
      const connections =
        mutation === "sharedSessions" ? sharedConnections : new Connections(mutation);
      const presses = createPresses((): ChannelHandle => inlet, mutation);
      const adapter = createAdapter(connections, mutation, presses);
      const inlet: ChannelHandle = needs.channels.attach(adapter);
      if (mutation === "sharedInlet") shared.inlet = inlet;
      let taking = false;
      let sessions = 0;
      const isTaking = (): boolean => (mutation === "sharedTaking" ? module.isTaking : taking);
      on("token-store:rotated", () => {
        if (mutation !== "keepsClients") connections.close();
      });
      const read = createLineReader({
        inlet: () => (mutation === "sharedInlet" ? shared.inlet! : inlet),
        presses,
        now: () => clock.now(),
        mutation,
        connections,
        isTaking,
        log,
      });
      const server = createServer((socket) => {
        socket.on("error", () => undefined);
        connections.accept(socket);
        const cancel = after(authenticationMs, () => socket.destroy());
        let session: string | undefined;
        const early: string[] = [];
        let [hasTried, number] = [false, 0];
        if (mutation === "closesTwin") module.sockets.add(socket);
        async function authenticate(line: string): Promise<void> {
          const [token = "", wanted] = line.split(" ");
          if (line.startsWith("{") && !hasTried) {
            if (mutation === "takesEarly") return read("early", line, 0);
            if (mutation === "queuesEarly") return void early.push(line);
          }
          hasTried = true;
          if (mutation === "readsOn") session = wanted ?? `s${(sessions += 1)}`;
          if (mutation !== "anyToken" && !(await accepts(token))) {
            if (mutation === "logsAttempt") log.warn({ token }, "rejected a token");
            return void socket.destroy();
          }
          cancel();
          if (mutation === "logsToken") log.debug({ attempt: { token } }, "a peer has joined");
          const own = (session ??= wanted ?? `s${(sessions += 1)}`);
          connections.join(own, socket, () => inlet.sessionIdle(own));
          socket.write(`${JSON.stringify({ session })}\n`);
          for (const each of early) read(own, each, 0);
        }
        readLines(
          socket,
          (line) =>
            session === undefined ? void authenticate(line) : read(session, line, (number += 1)),
          mutation,
          () => mutation !== (session === undefined ? "endlessFirst" : "endlessLater"),
        );
      });
      const sweep = setInterval(() => undefined, 1_000);
      onStop(async () => {
        if (mutation !== "keepsInlet") inlet.close();
        if (mutation !== "openInterval") clearInterval(sweep);
        else sweep.unref();
        connections.close();
        if (mutation === "closesTwin") for (const socket of module.sockets) socket.destroy();
        if (mutation === "openListener") server.unref();
        else if (server.listening) await new Promise((resolve) => void server.close(resolve));
      });
      const listen = () => once(server.listen(0, "127.0.0.1"), "listening");
      if (mutation === "listensEarly") await listen();
      onReady(async () => {
        if (mutation !== "listensEarly") await listen();
        const take = (isTaken: boolean): void => {
          taking = isTaken;
          if (mutation === "sharedTaking") module.isTaking = isTaken;
        };
        take(true);
        return async () => take(false);
      });
      return { tcp: { port: () => (server.address() as AddressInfo).port } };
    },
  };
}

/** Connects and sends the token. */
async function open(port: number, ...words: string[]) {
  const socket = connect(port, "127.0.0.1").on("error", () => undefined);
  const events = createQueue<Frame>(60_000);
  readLines(socket, (line) => events.push(JSON.parse(line) as Frame));
  socket.on("close", () => events.end(() => new Error("the channel closed the connection")));
  await once(socket, "connect");
  const write = (value: unknown): boolean => socket.write(`${JSON.stringify(value)}\n`);
  socket.write(`${words.join(" ")}\n`);
  return { socket, events, write };
}

/** Connects a client with the right token. */
export async function joinTcp(port: number, wanted: string[] = []): Promise<Peer> {
  const { socket, events, write } = await open(port, tcpToken, ...wanted);
  const { session } = (await events.next("the session")) as { session: string };
  return {
    session,
    say: (say) => write({ say }),
    typing: (typing) => write({ typing }),
    press: (press, { id }) => write({ press, option: id }),
    another: () => joinTcp(port, [session]),
    next: async () => (await events.next("an event")) as unknown as PeerEvent,
    async leave() {
      socket.end();
      if (!socket.closed) await once(socket, "close");
    },
  };
}

/** Connects a client with a wrong token. */
export async function intrudeTcp(port: number): Promise<Stranger> {
  const { write } = await open(port, "wrong-token-of-the-same-kind");
  return { say: (say) => write({ say }) };
}
