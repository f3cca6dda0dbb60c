import type { FastifyInstance, FastifyRequest } from "fastify";
import { sendPage, sectionsOf, requestState, type DashboardContext } from "./door.ts";
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
import { csrfToken } from "./sign-out.ts";

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
export function pageRoutes(app: FastifyInstance, door: DashboardContext): void {
  for (const [path, draw] of Object.entries(pagesByPath)) {
    app.get(path, (request, reply) => sendPage(reply, 200, draw(pageContext(door, request))));
  }
  app.get("/connect", async (request, reply) => {
    const channel = channelOf(door, request, await sectionsOf(door));
    return sendPage(reply, 200, connectPage({ ...pageContext(door, request), channel }));
  });
}

export function pageContext(door: DashboardContext, request: FastifyRequest): DeskPage {
  const { session } = requestState(request);
  const csrf = session ? csrfToken(door, session) : "";
  return { url: door.http.url, assets: door.assets.prefix, version: door.version, csrf };
}
