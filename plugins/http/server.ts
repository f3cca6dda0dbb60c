import { readFileSync } from "node:fs";
import {
  createServer,
  get,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { createSecureContext } from "node:tls";
import type { Log } from "../../kernel/index.ts";
import { cacheServerUrls, noAddress, normaliseAddress, serverUrls } from "./addresses.ts";
import type { ConnectionLimits } from "./connection-limits.ts";
import { trackConnections, type ServerShutdown } from "./connections.ts";
import { createDescriptorGuard, openFilesLimit } from "./descriptor-guard.ts";
import { httpErrors } from "./errors.ts";
import type { ClientFault } from "./log-limiter.ts";
import { limitPipelining, serveInTurn } from "./pipeline.ts";
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

const probeTimeoutMs = 1_000;

/** Who holds a port, as far as one quick question tells: " (by a launcher that is already running)", or nothing. */
export function describePortOwner(port: number, host = "127.0.0.1"): Promise<string> {
  return new Promise((resolve) => {
    const unknown = (): void => resolve("");
    const question = {
      host,
      port,
      path: "/healthz",
      agent: false,
      signal: AbortSignal.timeout(probeTimeoutMs),
    };
    const asked = get(question, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part: string) => {
        text = `${text}${part}`.slice(0, 100);
      });
      answer.on("error", unknown).on("end", () => {
        const isOurs =
          text.startsWith('{"status":"ok"') && answer.headers["referrer-policy"] === "no-referrer";
        resolve(isOurs ? " (by a launcher that is already running)" : "");
      });
    });
    asked.on("error", unknown);
  });
}

// No `shouldUpgradeCallback` (Node 24.9 and later): a request it turns down loses what the connection brought behind.
const serverLimits: ServerOptions = {
  requireHostHeader: false, // answered by us, with our headers
  connectionsCheckingInterval: 1_000, // Node's own 30 s would let a limit of 10 s pass for 40
  headersTimeout: 10_000,
  requestTimeout: 300_000, // the longest of any route; each has its own, shorter limit
  keepAliveTimeout: 65_000, // longer than the 60 s of common proxies, which else meet closed connections
};
/** TLS 1.2 suites with forward secrecy and authenticated encryption; TLS 1.3 has no others. */
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

function readTlsFile(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw httpErrors.HTTP_TLS_UNREADABLE(path, (error as NodeJS.ErrnoException).code ?? "unknown");
  }
}

export interface Tls {
  readonly cert: string;
  readonly key: string;
}

/** What Node makes of the two files; `HTTP_TLS_UNREADABLE` when they cannot be read or do not fit. */
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

/** Whether the next start could serve with these files. */
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

/** The timeout for unread responses ends with HTTP: the upgraded protocol has its own. */
function withoutTimeout(socket: Duplex): Duplex {
  (socket as Socket).setTimeout(0);
  return socket;
}

const faults: Readonly<Record<string, readonly [reason: string, text: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: ["request_timeout", "a request took too long to arrive"],
  HPE_INVALID_EOF_STATE: [
    "aborted_request",
    "a client closed its connection in the middle of a request",
  ],
};

function faultOf(code: string | undefined, { remoteAddress }: Socket): ClientFault {
  const [reason, text] = faults[code ?? ""] ?? ["malformed_request", "a request is not valid HTTP"];
  const address = normaliseAddress(remoteAddress ?? noAddress);
  return { reason, address, text, level: "info", fields: { code } };
}

export interface OwnServerOptions {
  readonly tls?: Tls | undefined;
  readonly note: (fault: ClientFault) => void;
  /** Milliseconds without progress until a client that does not read a response is disconnected.
   *  @defaultValue 30,000 */
  readonly unreadMs?: number;
}

/** Disconnects clients that do not read their responses, and idle ones that Node would. */
function closeUnread(
  server: Server,
  current: (socket: Duplex) => ServerResponse | undefined,
  { note, unreadMs: timeoutMs = unreadMs }: OwnServerOptions,
): void {
  server.setTimeout(timeoutMs, (socket: Socket) => {
    const answer = current(socket);
    const isUnread = socket.writableLength > 0;
    const isBeingServed = answer !== undefined && !answer.writableFinished && !answer.destroyed;
    if (isBeingServed && !isUnread) return; // its handler takes its time, or it is an event stream
    const address = normaliseAddress(socket.remoteAddress ?? noAddress);
    socket.destroy();
    if (isUnread)
      note({ reason: "response_unread", address, text: "a client did not read its response" });
  });
}

/** A server of this process, not listening yet. It replaces the responses that Node would write by
 *  itself, so that they carry the safety headers. */
export function createHttpServer(
  listener: Listener,
  router: Router,
  options: OwnServerOptions,
): Server {
  const server = createNodeServer(options.tls);
  // Behind 2,000 of them Node drops headers without a word, those of a proxy too. All of them together are bounded.
  server.maxHeadersCount = 0;
  const answers = new WeakMap<Duplex, ServerResponse>();

  const leaveHttp = limitPipelining(server);
  closeUnread(server, (socket) => answers.get(socket), options);

  function serve(request: IncomingMessage, answer: ServerResponse): void {
    answers.set(request.socket, answer);
    if (router.request(listener, request, answer)) return;
    setSecurityHeaders(answer);
    sendError(request, answer, router.unserved(request, "request"));
  }
  function refuseExpectation(request: IncomingMessage, answer: ServerResponse): void {
    setSecurityHeaders(answer);
    sendError(request, answer, errorResponses.expectation);
  }
  server.on("request", (request: IncomingMessage, answer: ServerResponse) =>
    serveInTurn(request, answer, serve),
  );
  server.on("checkExpectation", (request: IncomingMessage, answer: ServerResponse) =>
    serveInTurn(request, answer, refuseExpectation),
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
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    const answer = answers.get(socket);
    const midway = answer !== undefined && answer.headersSent && !answer.writableFinished;
    if (error.code === "HPE_CLOSED_CONNECTION") return; // discards what follows the last request
    if (error.code === "ECONNRESET" || midway) socket.destroy();
    else if (socket.writableEnded) return; // refused before: each further piece is an error, too, and is thrown away
    else {
      const isServed = answer !== undefined && !answer.writableFinished;
      if (!isServed || error.code !== "HPE_INVALID_EOF_STATE")
        options.note(faultOf(error.code, socket as Socket)); // else its route notes it
      writeError(socket, responseForParseError(error.code));
    }
  });
  return server;
}

export interface BindOptions {
  readonly port: number;
  /** `undefined`: all interfaces. */
  readonly host: string | undefined;
  /** What to do when the port cannot be had, as the end of a sentence. */
  readonly remedy: string;
}

async function bindError(
  code: string | undefined,
  { port, host, remedy }: BindOptions,
): Promise<Error> {
  if (code === "EADDRINUSE")
    return httpErrors.HTTP_PORT_IN_USE(port, await describePortOwner(port, host), remedy);
  if (code === "EACCES") return httpErrors.HTTP_PORT_FORBIDDEN(port, remedy);
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return httpErrors.HTTP_ADDRESS_UNAVAILABLE(host ?? "");
  return httpErrors.HTTP_LISTEN_FAILED(port, code ?? "unknown");
}

/** Rejects with the sentence its owner can act on. */
export function listen(server: Server, { port, host, remedy }: BindOptions): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const failed = ({ code }: NodeJS.ErrnoException): void =>
      void bindError(code, { port, host, remedy }).then(reject);
    server.once("error", failed);
    server.listen({ port, ...(host === undefined ? {} : { host }) }, () => {
      server.off("error", failed);
      resolve(server.address() as AddressInfo);
    });
  });
}

export interface ListenerSet {
  /** Plans a listener; a name twice is refused. */
  plan(listener: Listener, bind: BindOptions): void;
  isPlanned(listener: Listener): boolean;
  /** Opens all that were planned, in that order; a failure closes what had opened. */
  open(router: Router, tls: Tls | undefined, opened: (url: URL) => void): Promise<void>;
  addresses(listener: Listener): URL[];
  stopAccepting(): void;
  finish(): Promise<void>;
}

interface ListenerEntry {
  readonly bind: BindOptions;
  running?: { readonly closing: ServerShutdown; readonly links: () => URL[] };
}

export interface ListenersOptions {
  readonly basePath: string;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly log: Log;
  readonly limits: Pick<ConnectionLimits, "watch">;
  readonly note: (fault: ClientFault) => void;
}

export function createListenerSet(options: ListenersOptions): ListenerSet {
  const { basePath, now, log, limits, note } = options;
  const entries = new Map<Listener, ListenerEntry>();
  const running = (): ServerShutdown[] =>
    [...entries.values()].flatMap((entry) => entry.running?.closing ?? []);

  async function start(
    listener: Listener,
    entry: ListenerEntry,
    router: Router,
    tls: Tls | undefined,
  ): Promise<void> {
    const server = createHttpServer(listener, router, { tls, note });
    const serverShutdown = trackConnections(server);
    const limit = await openFilesLimit();
    if (limit !== undefined) server.on("connection", createDescriptorGuard(limit, now, log));
    limits.watch(server);
    await listen(server, entry.bind);
    entry.running = {
      closing: serverShutdown,
      links: cacheServerUrls(now, () => serverUrls(server, basePath, entry.bind.host)),
    };
  }

  const all: ListenerSet = {
    isPlanned: (listener) => entries.has(listener),

    plan(listener, bind) {
      if (entries.has(listener)) throw httpErrors.HTTP_LISTENER_TAKEN(listener);
      entries.set(listener, { bind });
    },

    async open(router, tls, opened) {
      try {
        for (const [listener, entry] of entries) await start(listener, entry, router, tls);
      } catch (error) {
        all.stopAccepting();
        await all.finish();
        throw error;
      }
      for (const listener of entries.keys()) all.addresses(listener).slice(0, 1).forEach(opened);
    },

    addresses(listener) {
      return entries.get(listener)?.running?.links() ?? [];
    },

    stopAccepting: () => running().forEach((serverShutdown) => serverShutdown.stopAccepting()),

    async finish() {
      await Promise.all(running().map((serverShutdown) => serverShutdown.finish()));
      for (const entry of entries.values()) delete entry.running;
    },
  };
  return all;
}
