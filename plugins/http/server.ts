/** Creates HTTP servers with limits, TLS and error responses, and closes their connections. */
import { readFileSync, statSync } from "node:fs";
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { createSecureContext, Server as TlsServer } from "node:tls";
import { noAddress, normaliseAddress } from "./addresses.ts";
import { httpErrors } from "./errors.ts";
import type { ClientFault } from "./log-limiter.ts";
import { limitPipelining, serveInTurn } from "./connection-limits.ts";
import {
  errorResponses,
  sendError,
  setSecurityHeaders,
  writeError,
  type ErrorResponse,
} from "./responses.ts";
import type { Router } from "./router.ts";
import type { Listener } from "./service.ts";
import { isWebSocketUpgrade, serveAsPlain } from "./upgrade.ts";

// `shouldUpgradeCallback` (Node 24.9 and later) is not used: if it rejects an upgrade, the bytes
// after the request are lost.
const serverLimits: ServerOptions = {
  requireHostHeader: false, // the router sends this error with the security headers
  connectionsCheckingInterval: 1_000, // with the default of 30 s, a limit of 10 s could take 40 s
  headersTimeout: 10_000,
  requestTimeout: 86_400_000, // the longest of all routes; each route has its own, shorter limit
  // Longer than the 60 s of common proxies, which would otherwise reuse closed connections.
  keepAliveTimeout: 65_000,
};
/** TLS 1.2 suites with forward secrecy and authenticated encryption, and all suites of TLS 1.3. */
const ciphers = [
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "TLS_AES_128_GCM_SHA256",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
].join(":");
const tlsLimits = { ciphers, honorCipherOrder: true, handshakeTimeout: 10_000 };
/** A client that reads none of a waiting response for this long is disconnected. */
const unreadMs = 30_000;

/** Far more than a chain of certificates. */
const maxTlsBytes = 1024 * 1024;

function readTlsFile(path: string): Buffer {
  try {
    // Reading a pipe would wait for a writer, and a device may have no end.
    const found = statSync(path);
    if (found.isFile() && found.size <= maxTlsBytes) return readFileSync(path);
  } catch (error) {
    throw httpErrors.HTTP_TLS_UNREADABLE(path, (error as NodeJS.ErrnoException).code ?? "unknown");
  }
  throw httpErrors.HTTP_TLS_UNREADABLE(path, "not a regular file of at most 1 MiB");
}

export interface Tls {
  readonly cert: string;
  readonly key: string;
}

/**
 * Passes the content of the two files to `make`.
 *
 * @throws HTTP_TLS_UNREADABLE if the files cannot be read or do not match.
 */
function withTlsFiles<T>(tls: Tls, make: (files: { cert: Buffer; key: Buffer }) => T): T {
  const files = { cert: readTlsFile(tls.cert), key: readTlsFile(tls.key) };
  try {
    return make(files);
  } catch (error) {
    throw httpErrors.HTTP_TLS_UNREADABLE(
      tls.cert,
      (error as NodeJS.ErrnoException).code ?? "not a certificate",
    );
  }
}

/** Checks that the next start can use these files. Throws HTTP_TLS_UNREADABLE otherwise. */
export const checkTls = (tls: Tls): void => void withTlsFiles(tls, createSecureContext);

const createNodeServer = (tls: Tls | undefined): Server =>
  tls === undefined
    ? createServer(serverLimits)
    : withTlsFiles(tls, (files) => createTlsServer({ ...serverLimits, ...files, ...tlsLimits }));

function responseForParseError(code: string | undefined): ErrorResponse {
  if (code === "HPE_HEADER_OVERFLOW") return errorResponses.headersTooLarge;
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW") return errorResponses.bodyTooLarge;
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? errorResponses.timeout : errorResponses.malformed;
}

/** Removes the timeout for unread responses: the upgraded protocol has its own. */
function withoutTimeout(socket: Duplex): Duplex {
  (socket as Socket).setTimeout(0);
  return socket;
}

const faults: Readonly<Record<string, readonly [reason: string, text: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ["request_timeout", "a request took too long to arrive"],
  HPE_INVALID_EOF_STATE: [
    "aborted_request",
    "a client closed its connection before its request was complete",
  ],
};

function faultOf(code: string | undefined, { remoteAddress }: Socket): ClientFault {
  const [reason, text] = faults[code ?? ""] ?? ["malformed_request", "a request is not valid HTTP"];
  const address = normaliseAddress(remoteAddress ?? noAddress);
  return { reason, address, text, level: "info", fields: { code } };
}

interface OwnServerOptions {
  readonly tls?: Tls | undefined;
  readonly note: (fault: ClientFault) => void;
  /** Milliseconds without progress until a client that does not read a response is disconnected.
   *  @defaultValue 30,000 */
  readonly unreadMs?: number;
}

/** Disconnects clients that do not read their responses, and idle clients. */
function closeUnread(
  server: Server,
  current: (socket: Duplex) => ServerResponse | undefined,
  { note, unreadMs: timeoutMs = unreadMs }: OwnServerOptions,
): void {
  server.setTimeout(timeoutMs, (socket: Socket) => {
    const response = current(socket);
    const isUnread = socket.writableLength > 0;
    const isBeingServed =
      response !== undefined && !response.writableFinished && !response.destroyed;
    if (isBeingServed && !isUnread) return; // a slow handler or an event stream
    const address = normaliseAddress(socket.remoteAddress ?? noAddress);
    socket.destroy();
    if (isUnread)
      note({ reason: "response_unread", address, text: "a client did not read its response" });
  });
}

/** Creates a server that does not listen yet. It replaces the error responses of Node, so that they
 *  have the security headers. */
export function createHttpServer(
  listener: Listener,
  router: Router,
  options: OwnServerOptions,
): Server {
  const server = createNodeServer(options.tls);
  // Node would silently drop headers after the first 2,000, including those of a proxy. Their total
  // size remains limited.
  server.maxHeadersCount = 0;
  const responses = new WeakMap<Duplex, ServerResponse>();

  const leaveHttp = limitPipelining(server);
  closeUnread(server, (socket) => responses.get(socket), options);

  function serve(request: IncomingMessage, response: ServerResponse): void {
    responses.set(request.socket, response);
    if (router.request(listener, request, response)) return;
    setSecurityHeaders(response);
    sendError(request, response, router.unserved(request, "request"));
  }
  function rejectExpectation(request: IncomingMessage, response: ServerResponse): void {
    setSecurityHeaders(response);
    sendError(request, response, errorResponses.expectation);
  }
  server.on("request", (request: IncomingMessage, response: ServerResponse) =>
    serveInTurn(request, response, serve),
  );
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) =>
    serveInTurn(request, response, rejectExpectation),
  );
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const all = leaveHttp(socket, head);
    if (!isWebSocketUpgrade(request)) serveAsPlain(server, request, socket, all);
    else if (!router.upgrade(listener, request, withoutTimeout(socket), all)) {
      writeError(socket, router.unserved(request, "upgrade"));
    }
  });
  server.on("connect", (_: IncomingMessage, socket: Duplex, head: Buffer) => {
    leaveHttp(socket, head);
    writeError(socket, errorResponses.method);
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) =>
    handleClientError(error, socket, responses.get(socket), options.note),
  );
  return server;
}

/** Sends an error response for a request that the parser of Node rejects. */
function handleClientError(
  { code }: NodeJS.ErrnoException,
  socket: Duplex,
  response: ServerResponse | undefined,
  note: (fault: ClientFault) => void,
): void {
  const isUnfinished = response !== undefined && !response.writableFinished;
  if (code === "HPE_CLOSED_CONNECTION") return; // discards bytes after the last request
  if (code === "ECONNRESET" || (isUnfinished && response.headersSent)) return void socket.destroy();
  if (socket.writableEnded) return; // rejected before: each further chunk is discarded
  // The route of a request that is being served notes this fault itself.
  if (!isUnfinished || code !== "HPE_INVALID_EOF_STATE") note(faultOf(code, socket as Socket));
  writeError(socket, responseForParseError(code));
}

const finishTimeoutMs = 1_000;

export interface ServerShutdown {
  /** Accepts no new connections, and no further requests on open ones. */
  stopAccepting(): void;
  /** Waits up to one second for current responses, then closes all sockets, upgraded ones too. */
  finish(): Promise<void>;
}

function collectSockets(server: Server, event: "connection" | "secureConnection"): Set<Duplex> {
  const sockets = new Set<Duplex>();
  /** One function for all sockets, because each idle WebSocket would keep its own closure. */
  function onClose(this: Duplex): void {
    sockets.delete(this);
  }
  server.on(event, (socket: Duplex) => {
    if (sockets.has(socket)) return; // `serveAsPlain` emits the event a second time
    sockets.add(socket);
    socket.on("close", onClose);
  });
  return sockets;
}

/** Tracks a server from its first connection on, so that shutdown closes all of them. */
export function trackConnections(server: Server): ServerShutdown {
  const rawSockets = collectSockets(server, "connection");
  /** The sockets that requests refer to; with TLS they differ from the raw ones. */
  const sockets =
    server instanceof TlsServer ? collectSockets(server, "secureConnection") : rawSockets;
  const responses = new Set<ServerResponse>();
  /** One function for all responses, as above. */
  function onResponseClose(this: ServerResponse): void {
    responses.delete(this);
    if (closed) server.closeIdleConnections();
  }
  let closed: Promise<void> | undefined;

  server.prependListener("request", (_: IncomingMessage, response: ServerResponse) => {
    responses.add(response);
    if (closed) response.setHeader("Connection", "close");
    response.on("close", onResponseClose);
  });

  const waitForClose = (response: ServerResponse): Promise<void> =>
    new Promise((done) => void response.once("close", () => done()));

  return {
    stopAccepting() {
      if (!server.listening) return;
      closed = new Promise((done) => void server.close(() => done()));
      for (const response of responses)
        if (!response.headersSent) response.setHeader("Connection", "close");
      server.closeIdleConnections();
    },

    async finish() {
      const busy = new Set<Duplex>(Array.from(responses, ({ req }) => req.socket));
      for (const socket of sockets) if (!busy.has(socket)) socket.destroy();
      // A Node timer, because sockets ignore the injected clock of a test.
      const timer = setTimeout(
        () => sockets.forEach((socket) => void socket.destroy()),
        finishTimeoutMs,
      );
      await Promise.all(Array.from(responses, waitForClose));
      clearTimeout(timer);
      for (const socket of [...sockets, ...rawSockets]) socket.destroy();
      await closed;
    },
  };
}
