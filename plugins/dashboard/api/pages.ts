import { readFile } from "node:fs/promises";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { distFolder } from "../assets.ts";
import { csrfToken } from "../auth/sign-out.ts";
import type { DashboardContext } from "../context.ts";
import { HttpError } from "../errors.ts";
import {
  chatPage,
  connectPage,
  connectionsPage,
  docsPage,
  doctorPage,
  logPage,
  sessionsPage,
  settingsPage,
  tokensPage,
  type DeskPage,
} from "../pages/index.ts";
import { sendPage } from "../reply.ts";
import { requestState } from "../request.ts";
import { channelOf, sectionsOf } from "./status.ts";

/** Path -> the page, whose module loads what it shows from the API. */
const pagesByPath: Readonly<Record<string, (page: DeskPage) => string>> = {
  "/connections": connectionsPage,
  "/chat": chatPage,
  "/tokens": tokensPage,
  "/sessions": sessionsPage,
  "/settings": settingsPage,
  "/log": logPage,
  "/doctor": doctorPage,
};

/** The pages behind the door, except for the overview. */
export function pageRoutes(app: FastifyInstance, context: DashboardContext): void {
  for (const [path, draw] of Object.entries(pagesByPath)) {
    app.get(path, (request, reply) => sendPage(reply, 200, draw(pageContext(context, request))));
  }
  app.get("/connect", async (request, reply) => {
    const channel = channelOf(context, request, await sectionsOf(context.services));
    return sendPage(reply, 200, connectPage({ ...pageContext(context, request), channel }));
  });
}

export function pageContext(context: DashboardContext, request: FastifyRequest): DeskPage {
  const { session } = requestState(request);
  const csrf = session ? csrfToken(context.auth, session) : "";
  return {
    url: context.site.url,
    assets: context.site.assets.prefix,
    version: context.site.version,
    csrf,
  };
}

/** `GET /docs`, `GET /docs/<page>`: the documentation, made HTML by the build (`scripts/docs.mjs`). */
export function docsRoutes(app: FastifyInstance, context: DashboardContext): void {
  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    name: string,
  ): Promise<FastifyReply> => {
    const text = /^[a-z-]{1,40}$/.test(name) ? await read(name) : undefined;
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

/** Few read it, and not often: it is kept nowhere. */
const read = (name: string): Promise<string | undefined> =>
  readFile(new URL(`${name}.html`, distFolder("docs")), "utf8").catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
      return undefined;
    },
  );
