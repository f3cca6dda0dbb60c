// Serves the addresses of one protocol: checks the request, runs its route, writes the response.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Release } from "../../kernel/index.ts";
import { retryLargeSeconds, sendJson, sendLargeJson } from "../http/kit.ts";
import type { Permission } from "../http/index.ts";
import { whyNotAllowed } from "../pico-server/handshake/identity.ts";
import { statusOf, toRefusal, refuse, type Refusal } from "./errors.ts";
import { unsupported } from "./fields.ts";
import type { Access } from "./gate.ts";
import type { Protocol } from "./protocol.ts";
import { readHeader } from "./session.ts";

/** Lets the stop button of a page stop the reply, whatever the setting says. */
const disconnectHeader = "x-doorward-disconnect";

type HeaderMap = Readonly<Record<string, string>>;

/** One request of a client that may use the protocol. */
export interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** CORS headers of an allowed page. */
  readonly cors: HeaderMap;
  readonly access: Access;
  /** Whether the answer stops when its last client leaves. */
  readonly stopsOnClose: () => boolean;
  /** Takes one of `max_requests`. A request calls it when its body has arrived, so that clients
   *  with slow bodies delay no other ones. */
  enter(): void;
}

export interface JsonReply {
  readonly value: object;
  /** @defaultValue 200 */
  readonly status?: number;
  readonly headers?: HeaderMap;
}

/** One method of an address. `run` returns undefined after it has written the response itself. */
export interface Route {
  readonly method: "GET" | "HEAD" | "POST" | "DELETE";
  /** The rights that a key needs. @defaultValue `read`; for `POST` also `write`; for `DELETE`
   *  only `write` */
  readonly rights?: readonly Permission[];
  run(call: Call): Promise<JsonReply | undefined>;
}

/** How a protocol finds its routes and shows its errors. */
interface ProtocolForm {
  /** @param path - Without the base path, the query and a final slash. */
  readonly find: (path: string) => Route | readonly Route[] | undefined;
  /** Says what there is instead of an address without a route. */
  readonly explain: (path: string, address: string) => string;
  /** @param path - As for `find`. Clients of other products use paths of their own. */
  readonly toErrorBody: (refusal: Refusal, path: string) => object;
  /** Codes in addition to those of all protocols. */
  readonly refusals?: Readonly<Record<string, readonly [number]>>;
}

/** The application has replied, so clients must not send the message again by themselves. */
const unreadRefusal = (): Refusal =>
  refuse("rate_limited", "Too many large responses are unread.", {
    headers: { "Retry-After": String(retryLargeSeconds), "x-should-retry": "false" },
  });

/** Calls a function when the client has received the response or has left. */
function whenSent(response: ServerResponse, call: () => void): void {
  const isBegun = response.writableEnded && !response.writableFinished;
  if (!isBegun || response.destroyed) return call();
  response.once("close", call);
}

/** Returns the path without the query and a final slash. */
const pathOf = ({ url = "" }: IncomingMessage): string =>
  url.split("?", 1)[0]!.replace(/(?<=.)\/$/, "");

/** A message is read with its answer. */
const defaultRights: Readonly<Record<Route["method"], readonly Permission[]>> = {
  GET: ["read"],
  HEAD: ["read"],
  POST: ["read", "write"],
  DELETE: ["write"],
};

/** @throws Refusal that names the right that a key lacks. */
function assertRights(access: Access, { method, rights = defaultRights[method] }: Route): void {
  for (const right of rights) {
    const problem = whyNotAllowed(access, right);
    if (problem !== undefined) throw refuse("not_allowed", problem);
  }
}

export class ProtocolServer {
  private readonly protocol: Protocol;
  private readonly form: ProtocolForm;

  constructor(protocol: Protocol, form: ProtocolForm) {
    this.protocol = protocol;
    this.form = form;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { gate, http } = this.protocol;
    let cors: HeaderMap = {};
    let access: Access | undefined;
    try {
      const route = this.findRoute(request);
      const person = gate.admitPerson(request);
      access = person;
      cors = person ? person.cors : gate.cors(request);
      if (request.method === "OPTIONS") {
        response.writeHead(204, { ...cors, ...gate.preflight(request) });
        return void response.end();
      }
      access = person ?? (await gate.authenticate(request));
      assertRights(access, route);
      gate.checkRate(request);
      const stopsOnClose = this.readDisconnect(request);
      let leave: Release | undefined;
      const enter = (): void => void (leave ??= gate.enter());
      if (route.method === "GET" || route.method === "HEAD") enter();
      try {
        const call = { request, response, cors, access, stopsOnClose, enter };
        const body = await route.run(call);
        const headers = { ...cors, ...body?.headers };
        if (body?.status !== undefined) sendJson(response, body.status, body.value, headers);
        else if (body && !sendLargeJson(http, response, body.value, headers)) throw unreadRefusal();
      } finally {
        if (leave) whenSent(response, leave);
      }
    } catch (error) {
      this.refuse(request, response, error, cors);
    } finally {
      access?.release?.();
    }
  }

  /** The header of a request wins over the setting. */
  private readDisconnect(request: IncomingMessage): () => boolean {
    const { config } = this.protocol;
    const given = readHeader(request, disconnectHeader);
    if (given === undefined) return () => config().disconnect === "stop";
    if (given === "stop" || given === "keep") return () => given === "stop";
    throw unsupported(disconnectHeader, "X-Doorward-Disconnect must be stop or keep.");
  }

  private findRoute(request: IncomingMessage): Route {
    const { method = "" } = request;
    const { config, isMisplaced, addressFor } = this.protocol;
    if (!config().enabled) throw refuse("unknown_url", "There is nothing at this address.");
    const path = pathOf(request);
    const found = isMisplaced(request) ? undefined : this.form.find(path);
    if (!found) throw refuse("unknown_url", this.form.explain(path, addressFor(request)));
    const routes = [found].flat();
    const route = method === "OPTIONS" ? routes[0] : routes.find((each) => each.method === method);
    if (route) return route;
    const methods = routes.map((each) => each.method);
    throw refuse("method_not_allowed", `Send a ${methods.join(" or ")} request.`, {
      headers: { Allow: `${methods.join(", ")}, OPTIONS` },
    });
  }

  private refuse(
    request: IncomingMessage,
    response: ServerResponse,
    error: unknown,
    cors: HeaderMap,
  ): void {
    const refusal = toRefusal(error);
    if (refusal.code === "internal") this.protocol.log.error({ err: error }, "request failed");
    const status = statusOf(refusal.code, this.form.refusals ?? {});
    sendJson(response, status, this.form.toErrorBody(refusal, pathOf(request)), {
      ...cors,
      ...refusal.details.response.headers,
      ...(request.complete ? {} : { Connection: "close" }),
    });
  }
}
