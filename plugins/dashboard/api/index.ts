/* What the dashboard's pages and programs of the owner ask, under `/api`. Every request here has passed all checks of
 * the guard: the asker has a session, or sent the launcher token as Bearer. */
import type { FastifyInstance } from "fastify";
import type { DashboardContext } from "../door.ts";
import { connectionRoutes } from "./connections.ts";
import { eventRoutes } from "./events.ts";
import { linkRoutes } from "./links.ts";
import { logRoutes } from "./log.ts";
import { sessionRoutes } from "./sessions.ts";
import { settingsRoutes } from "./settings.ts";
import { tokenRoutes } from "./tokens.ts";

export function apiRoutes(app: FastifyInstance, door: DashboardContext): void {
  tokenRoutes(app, door);
  sessionRoutes(app, door);
  settingsRoutes(app, door);
  linkRoutes(app, door);
  connectionRoutes(app, door);
  logRoutes(app, door);
  eventRoutes(app, door);
}
