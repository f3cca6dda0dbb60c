/**
 * The probe: answers requests of the check of the way in. For every other request its paths behave
 * as if it did not exist.
 *
 * @module
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { gzipSync } from "node:zlib";
import type { Clock } from "../../../../kernel/index.ts";
import { openEventStream, sendJson } from "../../../http/kit.ts";
import type { Http } from "../../../http/index.ts";
import type { ProbeFacts } from "../../shared/probe.ts";
import { hostIsAllowed } from "../auth/guard.ts";
import type { DashboardContext } from "../context.ts";
import { limits, probeHeader, type ProbeGrants, type ProbeRequest } from "./grants.ts";

/** Paths without the base path. */
export const probePaths = { dashboard: "/api/probe", channel: "/pico/probe" } as const;

const notFound = { error: "not_found", message: "Nothing is served at this address." };
/** A body of the largest file may take this long. */
const bodyTimeoutS = 900;
const maxHeaderCharacters = 300;
const secretHeaders: ReadonlySet<string> = new Set(["authorization", "proxy-authorization"]);
/** Larger than the buffers that proxies fill before they compress. */
const sample = Buffer.from(
  Array.from({ length: 2_048 }, (_, at) => `line ${at} of the sample\n`).join(""),
);
const sampleEtag = '"doorward-probe"';

interface Answering {
  readonly context: DashboardContext;
  readonly probe: ProbeRequest;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}
type Action = (answering: Answering, streams: EventStreams) => void | Promise<void>;

/** Everything that the request says about its way. */
function factsOf({ context, request }: Pick<Answering, "context" | "request">): ProbeFacts {
  const { http } = context;
  const peer = http.peer(request);
  const { socket, headers } = request;
  // A proxy may have put a token there, which is not shown.
  const secret = context.proxySignIn.setting?.secret_header.toLowerCase();
  const text = (name: string, value: string | string[] | undefined): string =>
    secretHeaders.has(name) || name === secret
      ? "present"
      : String(value ?? "").slice(0, maxHeaderCharacters);
  const named = Object.entries(headers).filter(([name]) => name !== probeHeader);
  return {
    peer: { address: peer.address, secure: peer.secure, host: peer.host },
    direct: {
      address: (socket.remoteAddress ?? "").replace(/^::ffff:/, ""),
      port: socket.remotePort ?? 0,
    },
    isHostAllowed: hostIsAllowed(context, peer),
    headers: Object.fromEntries(named.map(([name, value]) => [name, text(name, value)])),
  };
}

const probeCookie = (isSecure: boolean, basePath: string): string =>
  isSecure
    ? "__Host-doorward_probe=1; Path=/; HttpOnly; Secure; SameSite=Lax"
    : `doorward_probe=1; Path=${basePath || "/"}; HttpOnly; SameSite=Lax`;

const actions: Readonly<Record<string, Action>> = {
  facts: ({ context, probe, request, response }) =>
    sendJson(response, 200, factsOf({ context, request }), { [probeHeader]: probe.proof }),

  cookie({ context, probe, request, response }) {
    const { secure } = context.http.peer(request);
    const cookie = probeCookie(secure, context.http.url("/").replace(/\/$/, ""));
    const headers = { [probeHeader]: probe.proof, "Set-Cookie": cookie };
    sendJson(response, 200, { ...factsOf({ context, request }), cookie }, headers);
  },

  /** A part of the sample, as a download of a file sends it. */
  range({ probe, request, response }) {
    const [, start, end] = /^bytes=(\d{1,5})-(\d{1,5})$/.exec(request.headers.range ?? "") ?? [];
    const isPart = start !== undefined && end !== undefined;
    const body = isPart ? sample.subarray(Number(start), Number(end) + 1) : sample;
    response.writeHead(isPart ? 206 : 200, {
      "Accept-Ranges": "bytes",
      "Content-Type": "application/octet-stream",
      "Content-Length": body.length,
      "Cache-Control": "no-store",
      ETag: sampleEtag,
      ...(isPart && { "Content-Range": `bytes ${start}-${end}/${sample.length}` }),
      [probeHeader]: probe.proof,
    });
    response.end(body);
  },

  /** Compressed text, as the built files of the pages are sent. */
  text({ probe, request, response }) {
    const isAccepted = /\bgzip\b/.test(request.headers["accept-encoding"] ?? "");
    const body = isAccepted ? gzipSync(sample) : sample;
    response.writeHead(200, {
      "Content-Type": "text/plain; charset=utf-8",
      "Content-Length": body.length,
      "Cache-Control": "no-store",
      Vary: "Accept-Encoding",
      "X-Doorward-Compressed": isAccepted ? "gzip" : "no",
      ...(isAccepted && { "Content-Encoding": "gzip" }),
      [probeHeader]: probe.proof,
    });
    response.end(body);
  },

  stream: (answering, streams) => streams.open(answering),

  next({ probe, response, request }, streams) {
    const found = streams.writeNext(probe.parameters.get("stream") ?? "");
    request.resume();
    sendJson(response, found ? 200 : 404, { found }, { [probeHeader]: probe.proof });
  },

  /** Counts a body and keeps nothing of it. */
  async body({ probe, request, response }) {
    let received = 0;
    for await (const part of request as AsyncIterable<Buffer>) {
      received += part.length;
      if (!probe.useBytes(part.length)) return void response.destroy();
    }
    sendJson(response, 200, { received }, { [probeHeader]: probe.proof });
  },
};

/** Event streams whose events the client asks for one by one, or after a silence. */
class EventStreams {
  private readonly clock: Clock;
  private readonly byName = new Map<string, () => void>();
  private opened = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  open({ probe, response }: Answering): void {
    const name = String((this.opened += 1));
    const silenceMs = silenceOf(probe.parameters.get("silence"));
    openEventStream(response, { [probeHeader]: probe.proof, Vary: "Accept-Encoding" });
    let count = 0;
    const write = (): void =>
      void response.write(`data: ${JSON.stringify({ name, at: count++ })}\n\n`);
    write();
    this.byName.set(name, write);
    const timer =
      silenceMs > 0
        ? this.clock.setTimeout(() => response.end("data: {}\n\n"), silenceMs)
        : undefined;
    const end = (): void => void response.destroy();
    probe.ended.addEventListener("abort", end, { once: true });
    response.once("close", () => {
      this.clock.clearTimeout(timer);
      probe.ended.removeEventListener("abort", end);
      this.byName.delete(name);
    });
  }

  writeNext(name: string): boolean {
    this.byName.get(name)?.();
    return this.byName.has(name);
  }
}

const isProbePath = ({ url = "" }: IncomingMessage): boolean =>
  Object.values(probePaths).some((path) => url.split("?", 1)[0] === path);

/** @returns Milliseconds of a silence that a request asks for; 0 without one. */
function silenceOf(seconds: unknown): number {
  const wanted = Number(seconds ?? 0);
  return Number.isFinite(wanted) ? Math.max(0, Math.min(wanted, limits.silenceS)) * 1_000 : 0;
}

interface ProbeServices {
  readonly http: Http;
  readonly clock: Clock;
  readonly grants: ProbeGrants;
  readonly context: DashboardContext;
}

/**
 * Serves the probe.
 *
 * @param otherwise - Answers requests of the dashboard's path without a grant.
 */
export function serveProbe(services: ProbeServices, otherwise: RequestListener): void {
  const { http, clock, grants, context } = services;
  const streams = new EventStreams(clock);
  const handle =
    (onStranger: RequestListener): RequestListener =>
    (request, response) => {
      const probe = grants.admit(request);
      const act = probe && Object.hasOwn(actions, probe.action) ? actions[probe.action] : undefined;
      if (!probe || !act) {
        probe?.release();
        return onStranger(request, response);
      }
      http.markAuthenticated(request);
      response.once("close", probe.release);
      // A body that was cut ends the reader with an error; then the response is not needed.
      void Promise.resolve(act({ context, probe, request, response }, streams)).catch(() =>
        response.destroy(),
      );
    };
  // A check may ask on every path what arrives there.
  http.intercept((request, response) => {
    if (request.headers[probeHeader] === undefined || isProbePath(request)) return false;
    const probe = grants.admit(request);
    if (probe) response.once("close", probe.release);
    if (probe?.action !== "facts") return false;
    void actions["facts"]!({ context, probe, request, response }, streams);
    return true;
  });
  http.request(probePaths.dashboard, handle(otherwise), { bodySeconds: bodyTimeoutS });
  http.request(
    probePaths.channel,
    handle((request, response) => {
      request.resume();
      sendJson(response, 404, notFound, {});
    }),
    { listener: "gateway", bodySeconds: bodyTimeoutS },
  );
  http.upgrade(
    probePaths.channel,
    (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const probe = grants.admit(request);
      if (probe?.action !== "socket") {
        probe?.release();
        return http.rejectUpgrade(socket, 404, notFound);
      }
      socket.on("error", () => socket.destroy());
      http.markAuthenticated(request);
      socket.once("close", probe.release);
      // Loaded on demand: few launchers check their way in.
      void import("./socket.ts").then(
        ({ acceptProbeSocket }) =>
          acceptProbeSocket({ probe, clock, silenceOf }, request, socket, head),
        () => socket.destroy(),
      );
    },
    { listener: "gateway" },
  );
}
