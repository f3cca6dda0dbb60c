/** Serves the pages for signed-in browsers and the documentation. @module */
import { readFile } from "node:fs/promises";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { distFolder } from "../assets.ts";
import { consolePage } from "./console-page.ts";
import { csrfToken } from "../auth/sign-out.ts";
import type { DashboardContext } from "../context.ts";
import { HttpError } from "../errors.ts";
import {
  connectPage,
  connectionsPage,
  docsPage,
  doctorPage,
  logPage,
  sessionsPage,
  settingsPage,
  tokensPage,
  type SignedInPage,
} from "../pages/index.ts";
import { sendPage } from "../reply.ts";
import { requestState } from "../request.ts";
import { chatData } from "./chat.ts";
import { protocolViews } from "./protocols.ts";
import { sectionsOf } from "./settings.ts";
import { newestConnections } from "./connections.ts";
import { channelOf, statusOf } from "./status.ts";

/** Path to page. The browser module of a page loads its data from the API. */
const pagesByPath: Readonly<Record<string, (page: SignedInPage) => string>> = {
  "/connections": connectionsPage,
  "/tokens": tokensPage,
  "/sessions": sessionsPage,
  "/settings": settingsPage,
  "/log": logPage,
  "/doctor": doctorPage,
};

/** Adds the pages that require a sign-in. */
export function pageRoutes(app: FastifyInstance, context: DashboardContext): void {
  consolePage(app, context, {
    path: "/overview",
    page: "overview",
    title: "Overview",
    data: async (request) => ({
      status: await statusOf(context, request),
      figures: context.observers.figures.view(),
      connections: newestConnections(context.services),
    }),
  });
  for (const path of ["/chat", "/chat/:name"])
    consolePage(app, context, {
      path,
      page: "chat",
      title: "Chat",
      route: "/chat",
      data: () => chatData(context),
    });
  app.get("/conversations", (_, reply) => reply.redirect(context.site.url("/chat"), 301));
  for (const [path, draw] of Object.entries(pagesByPath)) {
    app.get(path, (request, reply) => sendPage(reply, 200, draw(pageContext(context, request))));
  }
  app.get("/connect", async (request, reply) => {
    const sections = await sectionsOf(context.services);
    const channel = channelOf(context, request, sections);
    const protocols = channel ? protocolViews(context.site, sections, channel.url) : [];
    const page = pageContext(context, request);
    return sendPage(reply, 200, connectPage({ ...page, channel, protocols }));
  });
}

/** @returns The values that every page needs. */
function pageContext(context: DashboardContext, request: FastifyRequest): SignedInPage {
  const { session } = requestState(request);
  const csrf = session ? csrfToken(context.auth, session) : "";
  return {
    url: context.site.url,
    assets: context.site.assets.prefix,
    version: context.site.version,
    csrf,
  };
}

/** Adds `GET /docs` and `GET /docs/<page>`. The build (`scripts/docs.mjs`) writes their HTML. */
export function docsRoutes(app: FastifyInstance, context: DashboardContext): void {
  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    name: string,
  ): Promise<FastifyReply> => {
    const text = /^[a-z-]{1,40}$/.test(name) ? await readDocument(name) : undefined;
    if (text === undefined) throw new HttpError("not_found");
    const [, title = "", markup = ""] = /^<!-- (.*) -->\n([^]*)$/.exec(text) ?? [];
    const isIndex = name === "index";
    return sendPage(
      reply,
      200,
      docsPage({ ...pageContext(context, request), title, markup, isIndex }),
    );
  };
  app.get("/docs", (request, reply) => show(request, reply, "index"));
  app.get<{ Params: { name: string } }>("/docs/:name", (request, reply) =>
    show(request, reply, request.params.name),
  );
}

/**
 * Reads a documentation page from disk each time: it is rarely read, so no memory is spent on it.
 */
const readDocument = (name: string): Promise<string | undefined> =>
  readFile(new URL(`${name}.html`, distFolder("docs")), "utf8").catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
      return undefined;
    },
  );
