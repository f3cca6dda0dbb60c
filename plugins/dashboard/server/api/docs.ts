/** Serves the documentation. @module */
import { readFile } from "node:fs/promises";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { distFolder } from "../assets.ts";
import type { DashboardContext } from "../context.ts";
import { refuse } from "../errors.ts";
import type { DocsData } from "../../pages/render.tsx";
import { sendConsolePage } from "./console-page.ts";
import { channelUrl } from "./status.ts";

/**
 * Adds `GET /docs`, `GET /docs/<page>` and the search index. The build (`scripts/docs.mjs`) writes
 * their files.
 */
export function docsRoutes(app: FastifyInstance, context: DashboardContext): void {
  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
  ): Promise<FastifyReply> => {
    const contents = await read<DocsData["contents"]>("contents");
    const isPage = contents.some(({ pages }) => pages.some((page) => page.id === id));
    if (!isPage && id !== "index") throw refuse("not_found");
    const page = await read<Omit<DocsData, "id" | "contents" | "channel">>(id);
    const status = context.services.picoServer?.status();
    return sendConsolePage(context, request, reply, {
      page: "docs",
      title: page.title,
      route: "/docs",
      data: {
        ...page,
        id,
        contents,
        ...(status && { channel: channelUrl(context, request, status) }),
      },
    });
  };
  app.get("/docs", (request, reply) => show(request, reply, "index"));
  app.get<{ Params: { name: string } }>("/docs/:name", (request, reply) =>
    show(request, reply, request.params.name),
  );
  app.get("/docs/search.json", async (_request, reply) =>
    reply.type("application/json; charset=utf-8").send(await readText("search")),
  );
}

/** Reads a file from disk each time: they are rarely read, so no memory is spent on them. */
const readText = (name: string): Promise<string> =>
  readFile(new URL(`${name}.json`, distFolder("docs")), "utf8");

const read = async <T>(name: string): Promise<T> => JSON.parse(await readText(name)) as T;
