import type { FastifyInstance, FastifyRequest } from "fastify";
import { requestState } from "../request.ts";
import { type DashboardContext } from "../context.ts";
import type { TextSink } from "./event-feed.ts";
import { parseLevel } from "./log.ts";

/** A page that reads no more than this behind is given up: it comes back and catches up. */
const maxBufferedBytes = 1_000_000;

/** All programs that hold the launcher token are one owner. */
export const bearerOwner = {};

/** `GET /api/events`: what happens, as Server-Sent Events; ends with its session. */
export function eventRoutes(app: FastifyInstance, context: DashboardContext): void {
  app.get("/api/events", (request, reply) => {
    const { log } = request.query as { log?: string };
    const level =
      log === undefined ? undefined : parseLevel(log === "1" ? "info" : log, "info", "log");
    const { session } = requestState(request);
    const { raw } = reply;
    raw.setHeader("content-type", "text/event-stream; charset=utf-8");
    raw.setHeader("cache-control", "no-store");
    raw.setHeader("vary", "Accept, Sec-Fetch-Mode");
    raw.setHeader("x-accel-buffering", "no"); // else nginx holds events back
    reply.hijack();
    if (request.method === "HEAD") return void raw.writeHead(200).end();
    raw.writeHead(200);
    const sink: TextSink = {
      write(text) {
        if (raw.writableEnded || raw.destroyed) return;
        raw.write(text);
        if (raw.writableLength > maxBufferedBytes) raw.destroy();
      },
      end: () => void raw.end(),
    };
    const stream = context.observers.feed.open(sink, {
      owner: session ?? bearerOwner,
      lastId: lastEventId(request),
      log: level,
    });
    session?.ended.add(stream.end);
    raw.on("error", () => undefined);
    raw.on("close", () => {
      session?.ended.delete(stream.end);
      stream.left();
    });
  });
}

/** `EventSource` sends the header by itself when it comes back; a page that opens a new one says it in the address. */
function lastEventId({ headers, query }: FastifyRequest): string | undefined {
  const header = headers["last-event-id"];
  const { last } = query as { last?: unknown };
  return typeof header === "string" && header !== ""
    ? header
    : typeof last === "string"
      ? last
      : undefined;
}
