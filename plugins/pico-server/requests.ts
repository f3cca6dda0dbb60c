import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock, Log } from "../../kernel/index.ts";
import type { Http } from "../http/index.ts";
import { isSessionId, limits, parseCursor, type Cursor } from "../../lib/pico-wire/index.ts";
import { answerJson, corsHeaders, preflightHeaders, type Answer } from "./answers.ts";
import type { PicoServerConfig } from "./config.ts";
import type { Connections } from "./connections.ts";
import { isRefusal, type Admission, type Gate } from "./gate.ts";
import { readKnock, type Knock } from "./knock.ts";
import { ownText } from "./own-text.ts";
import { createPosting, type PostingOptions } from "./posting.ts";
import { write, type Refusal } from "./refusals.ts";
import type { SessionLog } from "./session-log.ts";

/** An event stream that may begin. */
export interface Listening {
  readonly session: string;
  readonly after: Cursor | undefined;
}

export interface RequestOptions extends PostingOptions {
  readonly http: Http;
  readonly gate: Gate;
  readonly clock: Clock;
  readonly log: Log;
  readonly config: () => PicoServerConfig;
  readonly connections: Connections;
  readonly sessions: SessionLog;
  readonly refused: (knock: Knock, refusal: Refusal) => void;
  /** The answer is an event stream from now on. */
  readonly listens: (
    listening: Listening,
    r: ServerResponse,
    headers: Headers,
    knock: Knock,
    from: Admission,
  ) => void;
}

const sessionMissing = "The address names no session: add ?session_id= and its name.";
const upgradeLost =
  "This began as a WebSocket handshake and came without Upgrade: a proxy on the way removes it.";

export type Headers = Readonly<Record<string, string>>;
interface Wish {
  readonly listen: Listening;
  readonly admission: Admission;
}
/** Undefined: nobody is there to be answered. */
type Outcome = Answer | Refusal | Wish | undefined;

const methods: Readonly<Record<string, readonly string[]>> = {
  "/pico": ["GET", "HEAD"],
  "/pico/ws": ["GET", "HEAD"],
  "/pico/messages": ["POST"],
  "/pico/events": ["GET"],
};

/** The channel over plain HTTP: the probe, posted messages, event streams, and what else is asked under `/pico`. */
export function createRequests(
  options: RequestOptions,
): (q: IncomingMessage, r: ServerResponse) => Promise<void> {
  const { http, gate, log, config, connections } = options;
  const post = createPosting(options);

  const probe = (): Answer => {
    const {
      max_payload,
      max_connections,
      message_rate,
      message_burst,
      ping_interval,
      read_timeout,
    } = config();
    const sizes = {
      max_payload,
      content: limits.content,
      medium: limits.medium,
      outbound: limits.outboundFrame,
    };
    return {
      status: 200,
      body: {
        protocol: "pico",
        version: 1,
        features: ["messages", "events", "wait", "pico_ext"],
        limits: {
          ...sizes,
          max_connections,
          message_rate,
          message_burst,
          ping_interval,
          read_timeout,
        },
        connections: connections.count(),
      },
    };
  };

  function listen({ params, q }: Knock, admission: Admission): Outcome {
    const [session = "", ...more] = params.getAll("session_id");
    if (session === "") return { code: "invalid_session_id", message: sessionMissing };
    if (more.length > 0 || !isSessionId(session)) return { code: "invalid_session_id" };
    const last = q.headers["last-event-id"];
    const after = typeof last === "string" && last !== "" ? parseCursor(last) : undefined;
    if (last && !after)
      return { code: "bad_handshake", message: "Last-Event-ID is EPOCH:SEQ, as an event had it." };
    return { listen: { session: ownText(session), after }, admission };
  }

  /** What is left when a stream is to begin. Nothing else runs from here to its beginning: a free slot stays free. */
  function fault(knock: Knock, { admission }: Wish): Refusal | undefined {
    const isFree = connections.count() < config().max_connections;
    return (
      gate.expired(knock, admission) ?? (isFree ? undefined : { code: "too_many_connections" })
    );
  }

  async function serve(knock: Knock, r: ServerResponse): Promise<Outcome> {
    const { path, q } = knock;
    const known = methods[path];
    const closed = gate.isServing(knock);
    if (!known || closed?.code === "not_found") return { code: "not_found" };
    if (q.method === "OPTIONS") return { status: 204, body: {} };
    if (closed) return closed;
    if (!known.includes(q.method ?? ""))
      return { code: "method_not_allowed", allow: [...known, "OPTIONS"].join(", ") };
    const admission = await gate.admit(knock, gate.offer(knock));
    if (isRefusal(admission)) return admission;
    const expired = gate.expired(knock, admission);
    if (expired) return expired;
    if (path === "/pico/ws") return { code: "upgrade_required" };
    if (q.headers["sec-websocket-key"] !== undefined)
      return { code: "upgrade_required", message: upgradeLost };
    if (path === "/pico/events") return listen(knock, admission);
    return path === "/pico" ? probe() : post(knock, r, admission);
  }

  return async (q, r) => {
    const knock = readKnock(http, q, false);
    const cors =
      knock.origin !== undefined && gate.allowsOrigin(knock) ? corsHeaders(knock.origin) : {};
    const found = await serve(knock, r).catch((error: unknown): Refusal => {
      log.error({ err: error }, "a request failed");
      return { code: "internal" };
    });
    if (found === undefined || r.destroyed) return;
    const outcome = "listen" in found ? (fault(knock, found) ?? found) : found;
    if ("listen" in outcome)
      return options.listens(outcome.listen, r, cors, knock, outcome.admission);
    if ("code" in outcome) {
      const { status, body, headers } = write(outcome);
      options.refused(knock, outcome);
      return answerJson(r, status, body, {
        ...headers,
        ...cors,
        ...(q.complete ? {} : { Connection: "close" }),
      });
    }
    if (outcome.status !== 204) return answerJson(r, outcome.status, outcome.body, cors);
    r.writeHead(204, {
      ...cors,
      ...("Access-Control-Allow-Origin" in cors ? preflightHeaders : {}),
    });
    r.end();
  };
}
