/** Creates the Fastify application with all routes of the dashboard. @module */
import { createServer } from "node:http";
import type { FastifyInstance } from "fastify";
import { apiRoutes } from "./api/index.ts";
import { acceptsGzip } from "./assets.ts";
import { decorateRequests, maxBodyBytes, registerBodyParsers, requestState } from "./request.ts";
import { docsRoutes } from "./api/docs.ts";
import { installableRoutes } from "./api/installable.ts";
import { pageRoutes } from "./api/pages.ts";
import { type DashboardContext } from "./context.ts";
import { refuse } from "./errors.ts";
import { registerGuard } from "./auth/guard.ts";
import { healthProblem } from "./health.ts";
import { metricsRoute } from "./metrics/route.ts";
import { statusRoute } from "./api/status.ts";
import type { PluginRoutes } from "./api/plugin-routes.ts";
import { sendError } from "./auth/doorway.ts";
import { toHttpError } from "./reply.ts";
import { setupRoutes } from "./auth/setup.ts";
import { signInRoutes } from "./auth/sign-in.ts";
import { signOutRoute } from "./auth/sign-out.ts";
import { fastify } from "./web-framework.ts";

const routableMethods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

/**
 * No route has a Fastify schema. Without these stubs, Fastify loads two compilers at each start.
 */
const noSchemaCompilers = {
  buildValidator: () => () => () => true,
  buildSerializer: () => () => JSON.stringify,
};

/** Creates the Fastify application. It never listens: the http plugin passes requests to it. */
export async function createApp(
  context: DashboardContext,
  plugins: PluginRoutes,
): Promise<FastifyInstance> {
  const app = fastify({
    logger: false,
    bodyLimit: maxBodyBytes,
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: 300 },
    schemaController: { compilersFactory: noSchemaCompilers as never },
    serverFactory: (handler) => createServer(handler),
  });
  decorateRequests(app);
  registerBodyParsers(app);
  registerGuard(app, context);
  app.setErrorHandler((error, request, reply) => {
    const during = `${request.method} ${request.routeOptions.url ?? ""}`;
    return sendError(context.site, request, reply, toHttpError(error, context.runtime.log, during));
  });
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split("?", 1)[0]!;
    const isPattern = /[:*]/.test(path); // hasRoute would match it as a pattern
    const others = isPattern
      ? []
      : routableMethods.filter((method) => app.hasRoute({ method, url: path }));
    const allow = others.includes("GET") ? ["HEAD", ...others] : others;
    return sendError(
      context.site,
      request,
      reply,
      others.length > 0
        ? refuse("method_not_allowed", { allow: allow.join(", ") })
        : refuse("not_found"),
    );
  });

  signInRoutes(app, context);
  setupRoutes(app, context);
  signOutRoute(app, context);
  statusRoute(app, context);
  installableRoutes(app, context);
  pageRoutes(app, context);
  docsRoutes(app, context);
  apiRoutes(app, context);
  metricsRoute(app, context);
  publicRoutes(app, context);
  plugins.mount(app, context);
  await app.ready();
  return app;
}

/** Routes without sign-in: sign-in state, health checks for supervisors, and the built files. */
function publicRoutes(app: FastifyInstance, context: DashboardContext): void {
  app.get("/api/auth/status", { config: { access: "open" } }, (request, reply) => {
    const { session } = requestState(request);
    const { source, managedByEnv } = context.auth.tokens.info("launcher");
    const details = session
      ? { expiresAt: new Date(session.expiresAt).toISOString(), source, managedByEnv }
      : {};
    const body = {
      authenticated: session !== undefined,
      state: context.runtime.state(),
      ways: context.site.tokenHints(),
      ...details,
    };
    return reply.send(body);
  });
  for (const path of ["/healthz", "/readyz"])
    app.get(path, { config: { access: "anywhere" } }, (request, reply) => {
      const problem = healthProblem(context, path);
      if (!problem) return reply.send({ status: "ok" });
      const error = refuse("unavailable", { ...problem, retryAfterSeconds: 1 });
      return sendError(context.site, request, reply, error);
    });
  // Only the control socket serves these paths.
  for (const url of ["/local", "/local/*"]) {
    app.all(url, { config: { access: "open" } }, () => {
      throw refuse("not_found");
    });
  }
  // The page for a host name that is not allowed needs its styles, too.
  app.get("/assets/*", { config: { access: "anywhere" } }, async (request, reply) => {
    const prefix = `${context.site.assets.prefix}/`;
    const path = request.url.split("?", 1)[0]!;
    const asset = path.startsWith(prefix)
      ? context.site.assets.get(path.slice(prefix.length))
      : undefined;
    if (!asset) throw refuse("not_found");
    void reply.header("cache-control", "public, max-age=31536000, immutable").type(asset.type);
    if (!asset.gzipped) return reply.send(asset.body);
    void reply.header("vary", "Accept-Encoding");
    if (!acceptsGzip(request.headers["accept-encoding"])) return reply.send(asset.body);
    return reply.header("content-encoding", "gzip").send(await asset.gzipped());
  });
}
