import type { FastifyInstance, FastifyRequest } from "fastify";
import { page, sectionsOf, seen, type Door } from "./door.ts";
import { channelOf } from "./overview.ts";
import {
  chatPage,
  connectionsPage,
  connectPage,
  doctorPage,
  logPage,
  sessionsPage,
  settingsPage,
  tokensPage,
  type DeskPage,
} from "./pages/index.ts";
import { csrfOf } from "./sign-out.ts";

/** Path -> the page, whose module loads what it shows from the API. */
const pages: Readonly<Record<string, (page: DeskPage) => string>> = {
  "/connections": connectionsPage,
  "/chat": chatPage,
  "/tokens": tokensPage,
  "/sessions": sessionsPage,
  "/settings": settingsPage,
  "/log": logPage,
  "/doctor": doctorPage,
};

/** The pages behind the door, except for the overview. */
export function pageRoutes(app: FastifyInstance, door: Door): void {
  for (const [path, draw] of Object.entries(pages)) {
    app.get(path, (request, reply) => page(reply, 200, draw(deskOf(door, request))));
  }
  app.get("/connect", async (request, reply) => {
    const channel = channelOf(door, request, await sectionsOf(door));
    return page(reply, 200, connectPage({ ...deskOf(door, request), channel }));
  });
}

export function deskOf(door: Door, request: FastifyRequest): DeskPage {
  const { session } = seen(request);
  const csrf = session ? csrfOf(door, session) : "";
  return { url: door.http.url, assets: door.assets.prefix, version: door.version, csrf };
}
