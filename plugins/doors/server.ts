// Serves the addresses of one protocol: checks the request, runs its route, writes the response.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock, Log } from "../../kernel/index.ts";
import type { PicoDoor } from "../pico-server/index.ts";
import { sendJson } from "../pico-server/http/send-json.ts";
import { readJson, type JsonBody } from "./body.ts";
import type { CommonConfig } from "./config.ts";
import { statusOf, toRefusal } from "./errors.ts";
import type { JsonObject } from "./fields.ts";
import type { Gate } from "./gate.ts";
import { Refusal } from "./refusal.ts";
import { toSession } from "./session.ts";

type HeaderMap = Readonly<Record<string, string>>;

/** One request with a valid token. */
export interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** CORS headers of an allowed page. */
  readonly cors: HeaderMap;
  /** Version of the token. */
  readonly version: number;
}

/** A response of status 200. */
export interface JsonReply {
  readonly value: object;
  readonly headers?: HeaderMap;
}

/** One address. `run` returns undefined if it has written the response, or the client has left. */
export interface Route {
  readonly method: "GET" | "POST";
  run(call: Call): Promise<JsonReply | undefined>;
}

export interface ProtocolServerOptions {
  /** Name of the protocol, and first part of the names of its own sessions. */
  readonly name: string;
  readonly config: () => CommonConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly gate: Gate;
  readonly door: PicoDoor;
  /** True while messages can be delivered. */
  readonly isOpen: () => boolean;
}

/** How a protocol finds its routes and shows its errors. */
interface ProtocolForm {
  /** @param path - Without the base path, the query and a final slash. */
  readonly find: (path: string) => Route | undefined;
  readonly toErrorBody: (refusal: Refusal) => object;
  /** Codes in addition to those of all protocols. */
  readonly refusals?: Readonly<Record<string, readonly [number]>>;
}

export class ProtocolServer {
  private readonly options: ProtocolServerOptions;
  private readonly form: ProtocolForm;

  constructor(options: ProtocolServerOptions, form: ProtocolForm) {
    this.options = options;
    this.form = form;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { gate } = this.options;
    let cors: HeaderMap = {};
    try {
      const route = this.findRoute(request);
      cors = gate.cors(request);
      if (request.method === "OPTIONS") {
        response.writeHead(204, { ...cors, ...gate.preflight(request) });
        return void response.end();
      }
      const version = await gate.authenticate(request);
      const leave = gate.enter(request);
      try {
        const body = await route.run({ request, response, cors, version });
        if (body) sendJson(response, 200, body.value, { ...cors, ...body.headers });
      } finally {
        leave();
      }
    } catch (error) {
      this.refuse(request, response, error, cors);
    }
  }

  private findRoute({ url = "", method = "" }: IncomingMessage): Route {
    const path = url.split("?", 1)[0]!.replace(/(?<=.)\/$/, "");
    const route = this.options.config().enabled ? this.form.find(path) : undefined;
    if (!route) throw new Refusal("unknown_url", "There is nothing at this address.");
    if (method === route.method || method === "OPTIONS") return route;
    throw new Refusal("method_not_allowed", `Send a ${route.method} request.`, {
      headers: { Allow: `${route.method}, OPTIONS` },
    });
  }

  private refuse(
    request: IncomingMessage,
    response: ServerResponse,
    error: unknown,
    cors: HeaderMap,
  ): void {
    const refusal = toRefusal(error);
    if (refusal.code === "internal") this.options.log.error({ err: error }, "request failed");
    const status = statusOf(refusal.code, this.form.refusals ?? {});
    sendJson(response, status, this.form.toErrorBody(refusal), {
      ...cors,
      ...refusal.headers,
      ...(request.complete ? {} : { Connection: "close" }),
    });
  }
}

/** Reads the body. @returns Undefined if the client has left. */
export async function readCallBody(
  { config, clock, door, gate }: ProtocolServerOptions,
  { request, version }: Call,
): Promise<JsonBody | undefined> {
  const maxBytes = config().max_body;
  const body = await readJson(request, { maxBytes, clock, budget: door });
  if (!body || gate.isCurrent(version)) return body;
  // The token was replaced while the body arrived.
  body.release();
  throw new Refusal("invalid_api_key", "The token was replaced in the meantime.");
}

/** Reads a body that may be absent. @returns Undefined if the client has left. */
export async function readOptionalBody(
  options: ProtocolServerOptions,
  call: Call,
): Promise<JsonObject | undefined> {
  const { headers } = call.request;
  if (!headers["transfer-encoding"] && !Number(headers["content-length"] ?? 0)) return {};
  const body = await readCallBody(options, call);
  body?.release();
  return body?.value;
}

/** Rejects messages that cannot be delivered now. */
export function assertOpen({ isOpen }: ProtocolServerOptions): void {
  if (isOpen()) return;
  throw new Refusal("not_running", "Doorward is starting or stopping.", {
    headers: { "Retry-After": "1" },
  });
}

/**
 * @param name - The name that the client gave.
 * @param param - The field or header that contains it.
 * @returns The session of the channel.
 */
export async function sessionOf(
  { name: prefix, config, door }: ProtocolServerOptions,
  name: string,
  param: string,
): Promise<string> {
  const isShared = config().sessions === "shared";
  const session = toSession(name, { prefix, isShared, param });
  if (!(await door.isToken(name))) return session;
  throw new Refusal("unsupported_value", "The session name must not be a token.");
}
