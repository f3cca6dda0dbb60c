import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Http } from "../../http/index.ts";
import { maxBodyBytes, requestState } from "../request.ts";
import { type DashboardContext } from "../context.ts";
import { dashboardErrors, HttpError, httpErrors } from "../errors.ts";
import type { RouteHandler } from "../service.ts";
import { toIdentity } from "../auth/sessions.ts";

type NamedRequest = FastifyRequest<{ Params: { name: string } }>;

/** `/api/x/<name>/…`: requests that passed every check, handed to the plugin of that name as Node has them. */
export function createPluginRoutes() {
  const handlers = new Map<string, RouteHandler>();

  function handlerOf({ params: { name }, headers }: NamedRequest): RouteHandler {
    const handle = handlers.get(name);
    if (!handle) throw new HttpError("not_found");
    if (Number(headers["content-length"] ?? 0) > maxBodyBytes)
      throw new HttpError("body_too_large");
    return handle;
  }

  async function run(
    context: DashboardContext,
    handle: RouteHandler,
    request: NamedRequest,
    answer: ServerResponse,
  ): Promise<void> {
    const { session } = requestState(request);
    limitBody(context.http, request.raw, answer);
    try {
      await handle(request.raw, answer, session && toIdentity(session));
    } catch (error) {
      context.runtime.log.error(
        { err: error, during: `/api/x/${request.params.name}` },
        "a plugin failed to answer",
      );
      sendInternalError(answer);
    }
  }

  return {
    route(name: string, handle: RouteHandler): void {
      if (handlers.has(name)) throw dashboardErrors.dashboard_route_taken(name);
      handlers.set(name, handle);
    },
    mount(app: FastifyInstance, context: DashboardContext): void {
      // The plugin reads the body itself: every type passes unread, in this context only.
      void app.register(async (own) => {
        own.removeAllContentTypeParsers();
        own.addContentTypeParser("*", (_request, _payload, done) => done(null));
        for (const url of ["/api/x/:name", "/api/x/:name/*"]) {
          own.all<{ Params: { name: string } }>(url, (request, reply) => {
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

/** A body of unannounced length: beyond the bound the request is answered and its connection ended, whoever reads. */
function limitBody(http: Http, request: IncomingMessage, answer: ServerResponse): void {
  if (request.complete || request.headers["content-length"] !== undefined) return;
  let bytes = request.readableLength;
  const push = request.push.bind(request);
  request.push = (chunk: Uint8Array | null, encoding) => {
    bytes += chunk?.byteLength ?? 0;
    if (bytes <= maxBodyBytes) return push(chunk, encoding);
    if (answer.headersSent) request.socket.destroy();
    else if (!request.socket.writableEnded) {
      http.rejectUpgrade(request.socket, 413, {
        error: "body_too_large",
        message: httpErrors.body_too_large[1],
      });
    }
    return false;
  };
}

function sendInternalError(answer: ServerResponse): void {
  if (answer.headersSent) return void answer.destroy();
  const [status, message] = httpErrors.internal;
  answer.writeHead(status, { "content-type": "application/json; charset=utf-8" });
  answer.end(JSON.stringify({ error: "internal", message }));
}
