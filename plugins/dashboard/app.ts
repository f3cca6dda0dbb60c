import cookie from "@fastify/cookie";
import fastify, { type FastifyInstance } from "fastify";
import { createServer } from "node:http";
import { apiRoutes } from "./api/index.ts";
import { API_BODY, readBodies } from "./bodies.ts";
import { docsRoutes } from "./docs.ts";
import { seen, type Door } from "./door.ts";
import { Refusal } from "./errors.ts";
import { guard, stillOwner } from "./guard.ts";
import { metricsRoute } from "./metrics/route.ts";
import { overviewRoutes } from "./overview.ts";
import { pageRoutes } from "./page-routes.ts";
import type { PluginRoutes } from "./plugin-routes.ts";
import { asRefusal, refuse } from "./replies.ts";
import { setupRoutes } from "./setup.ts";
import { signInRoutes } from "./sign-in.ts";
import { signOutRoute } from "./sign-out.ts";

const METHODS = ["GET", "POST", "PUT", "DELETE"] as const;

/** No route has a schema for Fastify: without these it would load its two compilers at each start. */
const noCompilers = {
  buildValidator: () => () => () => true,
  buildSerializer: () => () => JSON.stringify,
};

/** The Fastify application. It never listens: the http plugin hands requests to it. */
export async function createApp(door: Door, plugins: PluginRoutes): Promise<FastifyInstance> {
  const app = fastify({
    logger: false,
    bodyLimit: API_BODY,
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: 300 },
    schemaController: { compilersFactory: noCompilers as never },
    serverFactory: (handler) => createServer(handler),
  });
  await app.register(cookie);
  readBodies(app);
  app.addHook("onRequest", async (request, reply) => {
    await guard(door, request, reply);
    if (reply.sent) return reply;
  });
  app.addHook("preHandler", async (request) => stillOwner(door, request));
  app.setErrorHandler((error, request, reply) =>
    refuse(
      door,
      request,
      reply,
      asRefusal(error, door, `${request.method} ${request.routeOptions.url ?? ""}`),
    ),
  );
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split("?", 1)[0]!;
    const isPattern = /[:*]/.test(path); // the router would read it as one
    const others = isPattern ? [] : METHODS.filter((method) => app.hasRoute({ method, url: path }));
    const allow = others.includes("GET") ? ["HEAD", ...others] : others;
    return refuse(
      door,
      request,
      reply,
      others.length > 0
        ? new Refusal("method_not_allowed", { allow: allow.join(", ") })
        : new Refusal("not_found"),
    );
  });

  signInRoutes(app, door);
  setupRoutes(app, door);
  signOutRoute(app, door);
  overviewRoutes(app, door);
  pageRoutes(app, door);
  docsRoutes(app, door);
  apiRoutes(app, door);
  metricsRoute(app, door);
  publicRoutes(app, door);
  plugins.mount(app, door);
  await app.ready();
  return app;
}

/** What needs no session: state for the pages before the door, health for supervisors, the built files. */
function publicRoutes(app: FastifyInstance, door: Door): void {
  app.get("/api/auth/status", { config: { access: "open" } }, (request, reply) => {
    const { session } = seen(request);
    const { source, managedByEnv } = door.tokens.info("launcher");
    const own = session
      ? { expiresAt: new Date(session.expiresAt).toISOString(), source, managedByEnv }
      : {};
    const body = {
      authenticated: session !== undefined,
      state: door.state(),
      ways: door.ways(),
      ...own,
    };
    return reply.header("cache-control", "no-store").send(body);
  });
  app.get("/healthz", { config: { access: "health" } }, (_request, reply) =>
    reply.header("cache-control", "no-store").send({ status: "ok" }),
  );
  app.get("/readyz", { config: { access: "health" } }, (request, reply) => {
    const state = door.stopping() ? "stopping" : door.serving() ? door.state() : "starting";
    if (state === "starting" || state === "stopping" || state === "unconfigured") {
      const message = `The launcher is ${state}; try again in a moment.`;
      return refuse(
        door,
        request,
        reply,
        new Refusal("unavailable", { message, state, retryAfterSeconds: 1 }),
      );
    }
    return reply.header("cache-control", "no-store").send({ status: "ok" });
  });
  // Served on the owner's socket alone.
  for (const url of ["/local", "/local/*"]) {
    app.all(url, { config: { access: "open" } }, () => {
      throw new Refusal("not_found");
    });
  }
  app.get("/assets/*", { config: { access: "open" } }, (request, reply) => {
    const prefix = `${door.assets.prefix}/`;
    const path = request.url.split("?", 1)[0]!;
    const asset = path.startsWith(prefix) ? door.assets.get(path.slice(prefix.length)) : undefined;
    if (!asset) throw new Refusal("not_found");
    return reply
      .header("cache-control", "public, max-age=31536000, immutable")
      .type(asset.type)
      .send(asset.body);
  });
}
