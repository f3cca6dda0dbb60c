/** `POST /api/program/restart`: restarts the application, if it is a program. @module */
import type { FastifyInstance } from "fastify";
import type { DashboardContext } from "../context.ts";
import { refuse } from "../errors.ts";
import { maxBodyBytes } from "../request.ts";

/** Adds `POST /api/program/restart`. */
export function programRoutes(app: FastifyInstance, { services }: DashboardContext): void {
  app.post("/api/program/restart", { bodyLimit: maxBodyBytes }, (_request, reply) => {
    if (!services.program)
      throw refuse("not_found", { message: "The application is not a program." });
    if (!services.program.restart())
      throw refuse("busy", { message: "The program is already ending." });
    return reply.header("cache-control", "no-store").send({ status: "ok" });
  });
}
