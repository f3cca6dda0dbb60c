/** Endpoints for the log and the doctor checks. @module */
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { doctorBody, parseBody, publicCheckBody, requestState } from "../request.ts";
import { type DashboardContext, type ObserverContext } from "../context.ts";
import { refuse, required } from "../errors.ts";
import type { ForwardedInfo, LogSource } from "../service.ts";
import { toRejectedConnection } from "../../shared/rejections.ts";
import { recentRejection } from "./handshake.ts";
import { logLevels, type DoctorView, type LogLevel } from "../../shared/views.ts";

const maxLines = 1_000;

const isLevel = (value: unknown): value is LogLevel => logLevels.some((level) => level === value);
/** @throws invalid_body if `value` is not a log level. */
export function parseLevel(value: unknown, defaultLevel: LogLevel, field = "level"): LogLevel {
  if (value === undefined || value === "") return defaultLevel;
  if (isLevel(value)) return value;
  throw refuse("invalid_body", {
    message: `"${field}" must be one of ${logLevels.join(", ")}.`,
  });
}

const requireLogSource = ({ logSource }: ObserverContext): LogSource =>
  required(logSource, "This deployment does not show its log.");

/** Adds `GET /api/log`, `GET /api/log/download` and `POST /api/doctor`. */
export function logRoutes(app: FastifyInstance, context: DashboardContext): void {
  app.get("/api/log", async (request, reply) => {
    const { level, text = "", limit = "500" } = request.query as Record<string, unknown>;
    if (typeof limit !== "string" || !/^\d{1,6}$/.test(limit)) {
      throw refuse("invalid_body", { message: '"limit" must be a whole number.' });
    }
    if (typeof text !== "string")
      throw refuse("invalid_body", { message: 'The parameter "text" occurs twice.' });
    const read = requireLogSource(context.observers).read({
      level: parseLevel(level, "debug"),
      text: text.slice(0, 200),
      limit: Math.min(Number(limit), maxLines),
    });
    return reply.send(await read);
  });

  app.get("/api/log/download", (_request, reply) =>
    reply
      .header("content-disposition", 'attachment; filename="launcher.log"')
      .type("text/plain; charset=utf-8")
      .send(Readable.from(requireLogSource(context.observers).lines())),
  );

  app.post("/api/doctor", async (request, reply) => {
    const doctor = required(context.observers.doctor, "This deployment has no doctor checks.");
    const { upgrade } = parseBody(doctorBody, request) ?? {};
    const rejection = upgrade === false ? recentRejection(context, request) : undefined;
    const checks = await doctor({
      forwarded: forwardedInfo(request),
      upgrade,
      rejection: rejection && { code: rejection.code, ...toRejectedConnection(rejection) },
    });
    return reply.send({ checks } satisfies DoctorView);
  });
  publicCheckRoutes(app, context);
}

/** Adds `GET /api/doctor/public` and `POST /api/doctor/public`, which starts a check. */
function publicCheckRoutes(app: FastifyInstance, { publicChecks }: DashboardContext): void {
  const found = () => required(publicChecks, "This deployment has no check of the public URL.");
  app.get("/api/doctor/public", (_request, reply) => reply.send(found().view()));
  app.post("/api/doctor/public", (request, reply) => {
    const { quick = false } = parseBody(publicCheckBody, request) ?? {};
    found().start(quick);
    return reply.send(found().view());
  });
}

/**
 * @returns The headers of a reverse proxy, and whether they were trusted; undefined without any.
 */
function forwardedInfo(request: FastifyRequest): ForwardedInfo | undefined {
  const {
    headers,
    raw: { socket },
  } = request;
  if (headers["x-forwarded-for"] === undefined && headers["forwarded"] === undefined)
    return undefined;
  const from = (socket.remoteAddress ?? "").replace(/^::ffff:/, "");
  const { address } = requestState(request).peer;
  const hasScheme =
    headers["x-forwarded-proto"] !== undefined || headers["forwarded"] !== undefined;
  // A browser on the machine of the proxy has the same address, trusted or not: compare the header.
  const last = String(headers["x-forwarded-for"] ?? "")
    .split(",")
    .at(-1)
    ?.trim();
  return { from, ignored: address === from && last !== from, host: hasScheme };
}
