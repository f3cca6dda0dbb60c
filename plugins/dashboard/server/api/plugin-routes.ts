/** `/api/x/<name>/…`: passes requests to the plugin that registered the name. @module */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Awaitable } from "../../../../kernel/index.ts";
import type { Http } from "../../../http/index.ts";
import { maxBodyBytes, requestState } from "../request.ts";
import { type DashboardContext } from "../context.ts";
import { dashboardErrors, refuse, httpErrors } from "../errors.ts";
import type { RouteHandler } from "../service.ts";
import { toIdentity } from "../auth/sessions.ts";

/** Runs a command of the control socket. */
type PluginCommand = (body: unknown) => Awaitable<object>;

type NamedRequest = FastifyRequest<{ Params: { name: string } }>;

/** Creates the registry of plugin routes. Handlers receive plain Node requests after all checks. */
export function createPluginRoutes() {
  const handlers = new Map<string, RouteHandler>();
  const commands = new Map<string, PluginCommand>();

  function handlerOf({ params: { name }, headers }: NamedRequest): RouteHandler {
    const handle = handlers.get(name);
    if (!handle) throw refuse("not_found");
    if (Number(headers["content-length"] ?? 0) > maxBodyBytes) throw refuse("body_too_large");
    return handle;
  }

  async function run(
    context: DashboardContext,
    handle: RouteHandler,
    request: NamedRequest,
    response: ServerResponse,
  ): Promise<void> {
    const { session } = requestState(request);
    limitBody(context.http, request.raw, response);
    try {
      await handle(request.raw, response, session && toIdentity(session));
    } catch (error) {
      context.runtime.log.error(
        { err: error, during: `/api/x/${request.params.name}` },
        "plugin request failed",
      );
      sendInternalError(response);
    }
  }

  return {
    route(name: string, handle: RouteHandler): void {
      if (handlers.has(name)) throw dashboardErrors.dashboard_route_taken(name);
      handlers.set(name, handle);
    },
    command(name: string, run: PluginCommand): void {
      if (commands.has(name)) throw dashboardErrors.dashboard_route_taken(name);
      commands.set(name, run);
    },
    /** @returns Whether a plugin serves this name. */
    has: (name: string): boolean => handlers.has(name),
    commandOf: (name: string): PluginCommand | undefined => commands.get(name),
    mount(app: FastifyInstance, context: DashboardContext): void {
      // The plugin reads the body itself, so no parser runs in this Fastify context.
      void app.register(async (scoped) => {
        scoped.removeAllContentTypeParsers();
        scoped.addContentTypeParser("*", (_request, _payload, done) => done(null));
        for (const url of ["/api/x/:name", "/api/x/:name/*"]) {
          scoped.all<{ Params: { name: string } }>(url, (request, reply) => {
            const handle = handlerOf(request);
            reply.raw.setHeader("cache-control", "no-store");
            reply.raw.setHeader("vary", "Accept, Sec-Fetch-Mode");
            reply.hijack();
            void run(context, handle, request, reply.raw);
          });
        }
      });
    },
  };
}
export type PluginRoutes = ReturnType<typeof createPluginRoutes>;

/**
 * Limits a body without `Content-Length` to 1 MiB: a larger one is answered with 413 and its
 * connection is closed, even if the plugin does not read it.
 */
function limitBody(http: Http, request: IncomingMessage, response: ServerResponse): void {
  if (request.complete || request.headers["content-length"] !== undefined) return;
  let bytes = request.readableLength;
  const push = request.push.bind(request);
  request.push = (chunk: Uint8Array | null, encoding) => {
    bytes += chunk?.byteLength ?? 0;
    if (bytes <= maxBodyBytes) return push(chunk, encoding);
    if (response.headersSent) request.socket.destroy();
    else if (!request.socket.writableEnded) {
      http.rejectUpgrade(request.socket, 413, {
        error: "body_too_large",
        message: httpErrors.body_too_large[1],
      });
    }
    return false;
  };
}

/** Sends a response that Fastify does not know of. */
export function sendInternalError(response: ServerResponse): void {
  if (response.headersSent) return void response.destroy();
  const [status, message] = httpErrors.internal;
  response.writeHead(status, { "content-type": "application/json; charset=utf-8" });
  response.end(JSON.stringify({ error: "internal", message }));
}
