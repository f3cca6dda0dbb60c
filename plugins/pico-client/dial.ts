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
import { followed, type Hop } from "./redirects.ts";
import { createRateLimitedWarn, truncateLine } from "./server-warnings.ts";

type CreateConnection = NonNullable<ClientOptions["createConnection"]>;

const MiB = 1024 * 1024;
/** Servers of the field put whole pictures into a frame. */
const maxPayload = 64 * MiB;
const maxErrorBody = 4_096;
const closeTimeoutMs = 1_000;

export interface DialOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly env: ProxyVariables;
  /** PEM; trusted beside the certificates Node brings. */
  readonly ca: string | undefined;
}

/** Opens sockets of `ws`: the token in a header, certificates checked, through a proxy where one is
 *  named. Redirects are followed on the same origin only. */
export function createDial({ clock, log, env, ca }: DialOptions): Dial {
  const trusted = ca === undefined ? undefined : [...rootCertificates, ca];
  const name = createNamer(log, clock);

  async function refusalOf(answer: IncomingMessage): Promise<HandshakeRejection> {
    const body = await readErrorBody(answer);
    const retry = retryAfterMs(answer.headers["retry-after"], clock.now());
    return { status: answer.statusCode, code: errorCodeIn(body), retryAfterMs: retry };
  }

  function nextHop(hop: Hop, answer: IncomingMessage): Hop | undefined {
    const found = followed(hop, answer);
    if (!found) return undefined;
    if ("next" in found) return found.next;
    const { elsewhere } = found;
    name(elsewhere, "The server redirects elsewhere, which Doorward does not follow. Use", "warn");
    return undefined;
  }

  return ({ url, token }, hear) => {
    const proxy = proxyFor(url, env);
    const left = new AbortController();
    let socket: WebSocket;
    let cutting: unknown;
    let isClosing = false;

    function open(hop: Hop): void {
      const options: ClientOptions = {
        // Node writes Latin-1: so the token's UTF-8 goes out as it is.
        headers: token ? { Authorization: `Bearer ${Buffer.from(token).toString("latin1")}` } : {},
        perMessageDeflate: false,
        maxPayload: maxPayload,
        ...(trusted && { ca: trusted }),
        ...(proxy && {
          createConnection: createTunnel(proxy, hop.url, {
            ca: trusted,
            left: left.signal,
          }) as unknown as CreateConnection,
        }),
      };
      const own = new WebSocket(hop.url, options);
      socket = own;
      attachListeners(own, hear, { log, refusalOf, redirect: (answer) => redirect(hop, answer) });
      own.once("open", () => {
        if (hop.count > 0) name(hop.url, "The server redirects: the channel is at", "info");
      });
      own.once("close", () => {
        if (socket !== own) return; // the handshake goes on at another address
        clock.clearTimeout(cutting);
        left.abort();
      });
    }

    function redirect(hop: Hop, answer: IncomingMessage): boolean {
      const next = nextHop(hop, answer);
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
        cutting = clock.setTimeout(() => socket.terminate(), closeTimeoutMs);
        socket.close(1000);
      },
    };
  };
}

/** Says where a redirect leads, once for each address that follows another. */
function createNamer(log: Log, clock: Clock) {
  const remark = createRateLimitedWarn(log, clock);
  let last = "";
  return ({ protocol, host, pathname }: URL, text: string, level: "info" | "warn"): void => {
    const url = truncateLine(`${protocol}//${host}${pathname}`);
    if (url === last) return;
    last = url;
    if (level === "warn") remark({ url }, `${text} ${url}`);
    else log.info({ url }, `${text} ${url}`);
  };
}

interface ListenContext extends Pick<DialOptions, "log"> {
  readonly refusalOf: (answer: IncomingMessage) => Promise<HandshakeRejection>;
  /** True when the handshake goes on at another address. */
  readonly redirect: (answer: IncomingMessage) => boolean;
}

function attachListeners(
  socket: WebSocket,
  hear: SocketListener,
  { log, refusalOf, redirect }: ListenContext,
): void {
  let isOpen = false;
  let isOver = false;
  const fail = (refusal: HandshakeRejection): void => {
    if (isOver) return;
    isOver = true;
    hear({ type: "failed", ...refusal });
  };
  socket.on("open", () => {
    isOpen = true;
    hear({ type: "opened" });
  });
  socket.on("message", (data) => hear({ type: "message", data: data as Buffer }));
  socket.on("ping", () => hear({ type: "heard" }));
  socket.on("unexpected-response", (q, answer) => {
    isOver ||= redirect(answer);
    if (isOver) return void q.destroy();
    void refusalOf(answer)
      .then(fail, () => fail({ status: answer.statusCode }))
      .finally(() => q.destroy());
  });
  socket.on("error", (error: NodeJS.ErrnoException) => {
    log.debug({ code: error.code }, `the connection failed: ${error.message}`);
    if (!isOpen) fail({ code: errorName(error) });
  });
  socket.on("close", (code, reason) => {
    if (isOpen) hear({ type: "closed", code, reason: reason.toString() });
    else fail({});
  });
}

/** What a person can do something about; all else is the network. */
function errorName({ code = "", message }: NodeJS.ErrnoException): string | undefined {
  if (code === "PROXY_REFUSED") return "proxy_refused";
  if (/CERT|SELF_SIGNED|ALTNAME|UNABLE_TO|ISSUER/.test(code) || /certificate/i.test(message))
    return "certificate";
  return undefined;
}

async function readErrorBody(answer: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of answer) {
    text += String(part);
    if (text.length > maxErrorBody) break;
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
