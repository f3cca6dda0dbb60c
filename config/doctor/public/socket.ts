// Checks WebSockets through the proxy: the handshake, an echo, and a silence.
import { once } from "node:events";
import {
  connect,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
} from "node:http2";
import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import { nameOf, wayCheck } from "./reporter.ts";
import { probeUrl, signProbe, timeoutError, tlsOf, type Way } from "./way.ts";

const handshakeTimeoutMs = 10_000;
const echoTimeoutMs = 5_000;
const lateMs = 10_000;

/** An open WebSocket of the probe, or why there is none. */
type Opened = { readonly socket: WebSocket } | { readonly problem: string };

function openSocket(way: Way): Promise<Opened> {
  const url = probeUrl(way, { action: "socket", isOfChannel: true });
  url.protocol = url.protocol.replace("http", "ws");
  const { headers, isProven } = signProbe(way, "socket");
  const socket = new WebSocket(url, {
    headers,
    handshakeTimeout: handshakeTimeoutMs,
    ...tlsOf(way),
    perMessageDeflate: false,
  });
  return new Promise((resolve) => {
    let isOurs = false;
    socket.once("upgrade", (response: IncomingMessage) => {
      isOurs = isProven(response.headers);
    });
    socket.once("unexpected-response", (_request, response: IncomingMessage) => {
      resolve({ problem: `it was answered with ${response.statusCode}` });
      socket.terminate();
    });
    socket.on("error", ({ message }) => resolve({ problem: message }));
    socket.once("open", () => {
      if (isOurs) return resolve({ socket });
      socket.terminate();
      resolve({ problem: "another program accepted it" });
    });
  });
}

/** @returns The next text of the socket; undefined if it closes first. */
function nextText(socket: WebSocket, withinMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const finish = (text: string | undefined): void => {
      clearTimeout(timer);
      socket.off("message", onMessage).off("close", onClose);
      resolve(text);
    };
    const onMessage = (data: unknown): void => finish(String(data));
    const onClose = (): void => finish(undefined);
    const timer = setTimeout(finish, withinMs, undefined);
    socket.on("message", onMessage).once("close", onClose);
  });
}

/** A WebSocket opens, and a message comes back. */
export const webSocketCheck = wayCheck(
  "public-websocket",
  "WebSockets pass",
  async (own, way, { fix, proxy }) => {
    const opened = await openSocket(way);
    if ("problem" in opened)
      return own.failed(
        `A WebSocket did not open: ${opened.problem}. ${nameOf(proxy)} drops the header ` +
          `Upgrade, or does ` +
          "not serve this path.",
        fix("websocket"),
      );
    const { socket } = opened;
    const startedAt = performance.now();
    socket.send("echo");
    const text = await nextText(socket, echoTimeoutMs);
    const ms = Math.round(performance.now() - startedAt);
    socket.terminate();
    if (text === "echo") return own.ok(`A message came back in ${ms} ms.`);
    return own.failed(
      `A WebSocket opened, but no message came back within ${echoTimeoutMs / 1_000} s.`,
      fix("websocket"),
    );
  },
);

/** A WebSocket without messages stays open. */
export const socketSilenceCheck = wayCheck(
  "public-websocket-silence",
  "A silent WebSocket stays open",
  async (own, way, { fix, proxy }, seconds: number) => {
    const opened = await openSocket(way);
    if ("problem" in opened)
      return own.failed(`A WebSocket did not open: ${opened.problem}.`, fix("websocket"));
    const { socket } = opened;
    const startedAt = performance.now();
    socket.send(`silence:${seconds}`);
    const text = await nextText(socket, seconds * 1_000 + lateMs);
    const passed = Math.round((performance.now() - startedAt) / 1_000);
    socket.terminate();
    if (text === "done") return own.ok(`It was silent for ${seconds} s.`);
    return own.failed(
      `${nameOf(proxy)} closed it after ${passed} s without a message.`,
      fix("websocketSilence"),
    );
  },
);

interface Http2Result {
  readonly isOffered: boolean;
  /** Status of a request; undefined if it failed. */
  readonly status?: number | undefined;
  readonly isProven?: boolean;
  /** Status of a WebSocket over HTTP/2 (RFC 8441); undefined if the proxy does not offer it. */
  readonly webSocket?: number | string | undefined;
}

/** HTTP/2, if the proxy offers it, and WebSockets over it, which browsers then use. */
export const http2Check = wayCheck(
  "public-http2",
  "HTTP/2 works, if it is on",
  async (own, way, { fix, proxy }) => {
    if (way.url.protocol !== "https:") return undefined;
    const { isOffered, status, isProven, webSocket } = await tryHttp2(way);
    if (!isOffered) return own.ok("It is off; clients use HTTP/1.1.");
    if (!isProven)
      return own.failed(
        `A request over HTTP/2 did not arrive (${status ?? "no response"}).`,
        fix("http2"),
      );
    if (webSocket === undefined) return own.ok("Requests arrive; WebSockets use HTTP/1.1.");
    if (webSocket === 200) return own.ok("Requests and WebSockets arrive.");
    return own.failed(
      `${nameOf(proxy)} offers WebSockets over HTTP/2 (RFC 8441), which browsers then ` +
        `use, and answers ` +
        `them with ${webSocket}.`,
      fix("http2"),
    );
  },
);

type Session = ReturnType<typeof connect>;

function tryHttp2(way: Way): Promise<Http2Result> {
  const { url } = way;
  return new Promise((resolve) => {
    const session = connect(url.origin, tlsOf(way));
    let result: Http2Result = { isOffered: false };
    const finish = (): void => {
      clearTimeout(timer);
      resolve(result);
      session.unref(); // after GOAWAY, Node waits until the server closes the connection
      session.destroy();
    };
    const timer = setTimeout(finish, handshakeTimeoutMs);
    session.on("error", finish);
    session.once("remoteSettings", ({ enableConnectProtocol = false }) => {
      result = { isOffered: true };
      void requestOver(session, way)
        .then(async (answer) => {
          result = { ...result, ...answer };
          if (answer.isProven && enableConnectProtocol)
            result = { ...result, webSocket: await connectOver(session, way) };
        })
        .then(finish, finish);
    });
  });
}

/** Rejects if the session ends before the response. */
async function requestOver(session: Session, way: Way) {
  const signed = signProbe(way, "facts");
  const target = probeUrl(way, { action: "facts" });
  const stream = session.request({ ...signed.headers, ":path": target.pathname + target.search });
  const response = once(stream, "response");
  stream.on("error", () => undefined); // after the response
  stream.end();
  const [headers] = (await response) as [IncomingHttpHeaders & IncomingHttpStatusHeader];
  stream.close();
  return { status: headers[":status"], isProven: signed.isProven(headers) };
}

/** Opens a WebSocket as browsers do over HTTP/2. @returns Its status, or why there is none. */
async function connectOver(session: Session, way: Way): Promise<number | string> {
  const target = probeUrl(way, { action: "socket", isOfChannel: true });
  const stream = session.request(
    {
      ...signProbe(way, "socket").headers,
      ":method": "CONNECT",
      ":protocol": "websocket",
      ":scheme": "https",
      ":authority": way.url.host,
      ":path": target.pathname + target.search,
      "sec-websocket-version": "13",
    },
    { endStream: false },
  );
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, handshakeTimeoutMs, timeoutError().message);
    const finish = (result: number | string): void => {
      clearTimeout(timer);
      resolve(result);
      stream.close(constants.NGHTTP2_CANCEL);
    };
    stream.once("response", (headers) => finish(headers[":status"] ?? 0));
    stream.on("error", ({ message }) => finish(message));
  });
}
