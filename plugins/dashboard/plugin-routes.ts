import type { FastifyInstance, FastifyRequest } from "fastify";
import { seen } from "./door.ts";
import { dashboardErrors, Refusal } from "./errors.ts";
import type { DashboardApi } from "./service.ts";
import { identityOf } from "./sessions.ts";

type Handle = Parameters<DashboardApi["route"]>[1];

/** `/api/x/<name>/…`: requests that passed every check, handed to the plugin of that name as Node has them. */
export function createPluginRoutes() {
  const handlers = new Map<string, Handle>();
  return {
    route(name: string, handle: Handle): void {
      if (handlers.has(name)) throw dashboardErrors.dashboard_route_taken(name);
      handlers.set(name, handle);
    },
    mount(app: FastifyInstance): void {
      // The plugin reads the body itself: every type passes unread, in this context only.
      void app.register(async (own) => {
        own.removeAllContentTypeParsers();
        own.addContentTypeParser("*", (_request, _payload, done) => done(null));
        const serve = (request: FastifyRequest<{ Params: { name: string } }>): Handle => {
          const handle = handlers.get(request.params.name);
          if (!handle) throw new Refusal("not_found");
          return handle;
        };
        for (const url of ["/api/x/:name", "/api/x/:name/*"]) {
          own.all<{ Params: { name: string } }>(url, (request, reply) => {
            const handle = serve(request);
            reply.hijack();
            const { session } = seen(request);
            handle(request.raw, reply.raw, session && identityOf(session));
          });
        }
      });
    },
  };
}
export type PluginRoutes = ReturnType<typeof createPluginRoutes>;
