// `/api/x/push/…` for signed-in pages, and `/push/answer` for the buttons of notifications.
import type { IncomingMessage, ServerResponse } from "node:http";
import { codeOf, type Clock, type Log } from "../../kernel/index.ts";
import type { RouteHandler } from "../dashboard/index.ts";
import type { Http, Identity, Limiter } from "../http/index.ts";
import { readBody, sendJson } from "../http/kit.ts";
import { answerBody, seenBody, subscriptionBody } from "./config.ts";
import type { DeviceDelivery } from "./delivery.ts";
import { deviceId, type Devices } from "./devices.ts";
import type { Pushes } from "./pushes.ts";
import type { Seen } from "./seen.ts";

interface RoutesOptions {
  readonly http: Http;
  readonly clock: Clock;
  readonly log: Log;
  readonly devices: Devices;
  readonly delivery: DeviceDelivery;
  readonly pushes: Pushes;
  readonly seen: Seen;
  /** Public key of this server, for browsers. */
  readonly publicKey: () => Promise<string>;
}

const maxBodyBytes = 8_192;

/** A response with an error that a page shows. */
class Refusal extends Error {
  readonly status: number;
  readonly error: string;

  constructor(status: number, error: string, message: string) {
    super(message);
    this.status = status;
    this.error = error;
  }
}

const statuses: Readonly<Record<string, number>> = {
  subscription_invalid: 400,
  too_many_devices: 409,
  store_unavailable: 503,
};

async function readJson(request: IncomingMessage, clock: Clock): Promise<unknown> {
  const body = await readBody(request, { maxBytes: maxBodyBytes, clock, reserve: () => true });
  if (body === "body_too_large") throw new Refusal(413, body, "The body is too large.");
  if (!Buffer.isBuffer(body)) throw new Refusal(400, "invalid_body", "The body is not complete.");
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    throw new Refusal(400, "invalid_body", "The body is not JSON.");
  }
}

interface Schema<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false; error: SchemaError };
}
interface SchemaError {
  readonly issues: readonly { readonly path: readonly PropertyKey[] }[];
}

async function parse<T>(schema: Schema<T>, request: IncomingMessage, clock: Clock): Promise<T> {
  const result = schema.safeParse(await readJson(request, clock));
  if (result.success) return result.data;
  const name = result.error.issues[0]?.path.join(".") ?? "";
  throw new Refusal(400, "invalid_body", `The field "${name}" is missing or invalid.`);
}

/** Creates the handler of the pages. */
export function pageRoutes(options: RoutesOptions): RouteHandler {
  return async (request, response, signIn) => {
    try {
      await handlePage(options, request, response, signIn);
    } catch (error) {
      const code = codeOf(error);
      const status = error instanceof Refusal ? error.status : statuses[code];
      if (status === undefined) throw error;
      const name = error instanceof Refusal ? error.error : code;
      sendJson(response, status, { error: name, message: (error as Error).message }, {});
    }
  };
}

async function handlePage(
  options: RoutesOptions,
  request: IncomingMessage,
  response: ServerResponse,
  signIn: Identity | undefined,
): Promise<void> {
  const { clock, devices, seen } = options;
  const path = (request.url ?? "").split("?", 1)[0]!.replace(/^\/api\/x\/push/, "");
  const [, id, action] = /^\/subscriptions\/([\w-]{1,64})(\/test)?$/.exec(path) ?? [];
  const pattern = id === undefined ? path : `/subscriptions/:id${action ?? ""}`;
  const route = `${request.method} ${pattern}`;
  const done = (body: object = { status: "ok" }): void => sendJson(response, 200, body, {});
  if (route === "GET /state") return done(await stateOf(options));
  if (route === "POST /seen") {
    const { page, visible } = await parse(seenBody, request, clock);
    await seen.note(page, visible);
    return done();
  }
  if (route === "POST /subscriptions") return done(await subscribe(options, request, signIn));
  if (route === "DELETE /subscriptions/:id") {
    await devices.remove(id!);
    return done();
  }
  if (route === "POST /subscriptions/:id/test") {
    const [sent] = await options.pushes.test(id);
    if (!sent) throw new Refusal(404, "not_found", "This device is not turned on.");
    const { outcome, problem } = sent;
    return done({ outcome, ...(problem !== undefined && { problem }) });
  }
  throw new Refusal(404, "not_found", "Nothing is served at this address.");
}

async function stateOf({ devices, delivery, publicKey }: RoutesOptions): Promise<object> {
  const list = await devices.list();
  return {
    key: await publicKey(),
    devices: list.map((device) => ({
      id: device.id,
      userAgent: device.userAgent,
      createdAt: device.createdAt,
      hasButtons: devices.mayAnswer(device),
      ...delivery.stateOf(device.id),
    })),
  };
}

async function subscribe(
  { http, clock, devices }: RoutesOptions,
  request: IncomingMessage,
  signIn: Identity | undefined,
): Promise<object> {
  if (!signIn)
    throw new Refusal(403, "forbidden", "A device belongs to a sign-in: open the page in it.");
  const { replaces, endpoint, keys, renew } = await parse(subscriptionBody, request, clock);
  const { secure, host } = http.peer(request);
  const base = new URL(http.url("/"), `${secure ? "https" : "http"}://${host}`);
  // A worker has no page whose address it could name.
  const device = {
    endpoint,
    keys,
    userAgent: (request.headers["user-agent"] ?? "").slice(0, 300),
    base: base.href,
    createdAt: clock.now(),
    signIn: signIn.id,
  };
  const id = await devices.add(device, renew);
  if (id === undefined) return { status: "unknown" };
  if (replaces !== undefined && replaces !== endpoint) await devices.remove(deviceId(replaces));
  return { id };
}

const texts = {
  unknown: "This button no longer works. Open Doorward.",
  used: "Already answered",
  already: "Already answered",
  invalid: "This answer is not valid. Open Doorward.",
  not_stored: "Not stored. Open Doorward and answer again.",
} as const;

const effectTexts = { allow: "Allowed", deny: "Denied" } as const;

interface AnswerOptions extends RoutesOptions {
  readonly limiter: Limiter;
}

/**
 * Creates the handler of `POST /push/answer`. A ticket is the only credential: it is good for one
 * answer, and a wrong one counts as a wrong token.
 */
export function answerRoute(
  options: AnswerOptions,
): (request: IncomingMessage, response: ServerResponse) => void {
  const { log } = options;
  return (request, response) => {
    void handleAnswer(options, request, response).catch((error: unknown) => {
      if (!(error instanceof Refusal)) log.error({ err: error }, "an answer failed");
      const status = error instanceof Refusal ? error.status : 500;
      sendJson(response, status, { status: "unknown", text: texts.unknown }, {});
    });
  };
}

async function handleAnswer(
  { http, clock, log, pushes, limiter }: AnswerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const site = request.headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin")
    throw new Refusal(403, "origin_not_allowed", "Only the worker of this dashboard may answer.");
  const { ticket, option } = await parse(answerBody, request, clock);
  const { key, address } = http.peer(request);
  let refused: "unknown" | "used" = "unknown";
  const verdict = await limiter.attempt(key, ticket, async () => {
    const result = await pushes.answer(ticket, option);
    if (result.status !== "unknown" && result.status !== "used") return result;
    refused = result.status;
    return false;
  });
  if (verdict.outcome === "limited") {
    const headers = { "retry-after": String(verdict.retryAfterSeconds) };
    return sendJson(response, 429, { status: "limited", text: texts.unknown }, headers);
  }
  if (verdict.outcome === "mismatch") {
    const text = "rejected: the ticket of a notification is wrong or was used";
    http.noteFault(log, { reason: "push_ticket", address, text });
    return sendJson(response, 403, { status: refused, text: texts[refused] }, {});
  }
  const { match } = verdict;
  const { status, effect } = match;
  const code = { settled: 200, already: 200, not_stored: 503 }[status as "settled"] ?? 409;
  const text =
    status !== "settled" ? texts[status] : effect === undefined ? "Answered" : effectTexts[effect];
  sendJson(response, code, { status, text }, {});
}
