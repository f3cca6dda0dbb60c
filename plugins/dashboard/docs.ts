import { readFile } from "node:fs/promises";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { distFolder } from "./assets.ts";
import { sendPage, type DashboardContext } from "./door.ts";
import { HttpError } from "./errors.ts";
import { pageContext } from "./page-routes.ts";
import { docsPage } from "./pages/index.ts";

/** `GET /docs`, `GET /docs/<page>`: the documentation, made HTML by the build (`scripts/docs.mjs`). */
export function docsRoutes(app: FastifyInstance, door: DashboardContext): void {
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
      docsPage({ ...pageContext(door, request), title, markup, isIndex }),
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
