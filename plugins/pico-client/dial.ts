// Opens the WebSocket of a link with the package `ws`.
import type { IncomingMessage } from "node:http";
import { rootCertificates } from "node:tls";
import { WebSocket, type ClientOptions } from "ws";
import type { Clock, Log } from "../../kernel/index.ts";
import {
  retryAfterMs,
  type Dial,
  type SocketListener,
  type HandshakeRejection,
} from "../../lib/pico-link/index.ts";
import { proxyFor, createTunnel, type ProxyVariables } from "./proxy.ts";
import { followRedirect, type Hop } from "./redirects.ts";
import { createRateLimitedWarn, truncateLine } from "./server-warnings.ts";

type CreateConnection = NonNullable<ClientOptions["createConnection"]>;

const MiB = 1024 * 1024;
/** Other servers send whole images in one frame. */
const maxPayloadBytes = 64 * MiB;
const maxErrorBodyLength = 4_096;
const closeTimeoutMs = 1_000;

interface DialOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly env: ProxyVariables;
  /** PEM; trusted in addition to the built-in certificates of Node. */
  readonly ca: string | undefined;
}

/**
 * Creates a function that opens a WebSocket: it sends the token in a header, checks certificates
 * and uses the proxy of the environment. It follows redirects on the same origin only.
 */
export function createDial({ clock, log, env, ca }: DialOptions): Dial {
  const trusted = ca === undefined ? undefined : [...rootCertificates, ca];
  const logRedirect = createRedirectLog(log, clock);

  async function toRejection(response: IncomingMessage): Promise<HandshakeRejection> {
    const body = await readErrorBody(response);
    const retry = retryAfterMs(response.headers["retry-after"], clock.now());
    return { status: response.statusCode, code: errorCodeIn(body), retryAfterMs: retry };
  }

  function nextHop(hop: Hop, response: IncomingMessage): Hop | undefined {
    const found = followRedirect(hop, response);
    if (!found) return undefined;
    if ("next" in found) return found.next;
    const { elsewhere } = found;
    logRedirect(
      elsewhere,
      "The server redirects elsewhere, which Doorward does not follow. Use",
      "warn",
    );
    return undefined;
  }

  return ({ url, token }, listener) => {
    const proxy = proxyFor(url, env);
    const aborted = new AbortController();
    let socket: WebSocket;
    let closeTimer: unknown;
    let isClosing = false;

    function open(hop: Hop): void {
      const options: ClientOptions = {
        // Node writes headers as Latin-1. This conversion makes the token arrive as UTF-8.
        headers: token ? { Authorization: `Bearer ${Buffer.from(token).toString("latin1")}` } : {},
        perMessageDeflate: false,
        maxPayload: maxPayloadBytes,
        ...(trusted && { ca: trusted }),
        ...(proxy && {
          createConnection: createTunnel(proxy, hop.url, {
            ca: trusted,
            signal: aborted.signal,
          }) as unknown as CreateConnection,
        }),
      };
      const opened = new WebSocket(hop.url, options);
      socket = opened;
      attachListeners(opened, listener, {
        log,
        toRejection,
        redirect: (response) => redirect(hop, response),
      });
      opened.once("open", () => {
        if (hop.count > 0) logRedirect(hop.url, "The server redirects: the channel is at", "info");
      });
      opened.once("close", () => {
        if (socket !== opened) return; // the handshake continues at another address
        clock.clearTimeout(closeTimer);
        aborted.abort();
      });
    }

    function redirect(hop: Hop, response: IncomingMessage): boolean {
      const next = nextHop(hop, response);
      if (!next || isClosing) return false;
      open(next);
      return true;
    }

    open({ url: new URL(url), count: 0, isSlash: false });
    return {
      write: (text) => socket.send(text),
      buffered: () => socket.bufferedAmount,
      close() {
        isClosing = true;
        closeTimer = clock.setTimeout(() => socket.terminate(), closeTimeoutMs);
        socket.close(1000);
      },
    };
  };
}

/** Logs the target of a redirect, once for consecutive redirects to the same address. */
function createRedirectLog(log: Log, clock: Clock) {
  const warn = createRateLimitedWarn(log, clock);
  let last = "";
  return ({ protocol, host, pathname }: URL, text: string, level: "info" | "warn"): void => {
    const url = truncateLine(`${protocol}//${host}${pathname}`);
    if (url === last) return;
    last = url;
    if (level === "warn") warn({ url }, `${text} ${url}`);
    else log.info({ url }, `${text} ${url}`);
  };
}

interface ListenContext extends Pick<DialOptions, "log"> {
  readonly toRejection: (response: IncomingMessage) => Promise<HandshakeRejection>;
  /** @returns True if the handshake continues at another address. */
  readonly redirect: (response: IncomingMessage) => boolean;
}

function attachListeners(
  socket: WebSocket,
  listener: SocketListener,
  { log, toRejection, redirect }: ListenContext,
): void {
  let isOpen = false;
  let hasFailed = false;
  const fail = (rejection: HandshakeRejection): void => {
    if (hasFailed) return;
    hasFailed = true;
    listener({ type: "failed", ...rejection });
  };
  socket.on("open", () => {
    isOpen = true;
    listener({ type: "opened" });
  });
  socket.on("message", (data) => listener({ type: "message", data: data as Buffer }));
  socket.on("ping", () => listener({ type: "heard" }));
  socket.on("unexpected-response", (request, response) => {
    hasFailed ||= redirect(response);
    if (hasFailed) return void request.destroy();
    void toRejection(response)
      .then(fail, () => fail({ status: response.statusCode }))
      .finally(() => request.destroy());
  });
  socket.on("error", (error: NodeJS.ErrnoException) => {
    log.debug({ code: error.code }, `the connection failed: ${error.message}`);
    if (!isOpen) fail({ code: errorName(error) });
  });
  socket.on("close", (code, reason) => {
    if (isOpen) listener({ type: "closed", code, reason: reason.toString() });
    else fail({});
  });
}

/** @returns A code for errors that the user can fix; undefined for network errors. */
function errorName({ code = "", message }: NodeJS.ErrnoException): string | undefined {
  if (code === "PROXY_REFUSED") return "proxy_refused";
  if (isWithoutTls({ code, message })) return "no_tls";
  if (/CERT|SELF_SIGNED|ALTNAME|UNABLE_TO|ISSUER/.test(code) || /certificate/i.test(message))
    return "certificate";
  return undefined;
}

/** A server without TLS answers a TLS handshake with plain text. */
const isWithoutTls = ({ code, message }: Pick<NodeJS.ErrnoException, "code" | "message">) =>
  code === "ERR_SSL_WRONG_VERSION_NUMBER" ||
  code === "ERR_SSL_PACKET_LENGTH_TOO_LONG" ||
  (code === "EPROTO" && /wrong version number|packet length too long/.test(message));

async function readErrorBody(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of response) {
    text += String(part);
    if (text.length > maxErrorBodyLength) break;
  }
  return text;
}

function errorCodeIn(body: string): string | undefined {
  try {
    const { error } = JSON.parse(body) as { error?: unknown };
    return typeof error === "string" && /^[a-z_]{1,40}$/.test(error) ? error : undefined;
  } catch {
    return undefined;
  }
}
