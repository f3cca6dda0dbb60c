/** `GET /api/events`: streams dashboard events to pages and programs. @module */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { requestState } from "../request.ts";
import { type DashboardContext } from "../context.ts";
import type { TextSink } from "./event-feed.ts";
import { parseLevel } from "./log.ts";

/**
 * A stream with more unread bytes is closed; the page reconnects and receives the missed events.
 */
const maxBufferedBytes = 1_000_000;

/** Owner of all streams that were opened with the launcher token. */
export const bearerOwner = {};

/** Adds `GET /api/events`: Server-Sent Events until the session ends. */
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
    raw.setHeader("x-accel-buffering", "no"); // prevents nginx from buffering events
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
      stream.leave();
    });
  });
}

/**
 * @returns The id of the last event that the client has received. `EventSource` sends a header when
 * it
 *   reconnects; a page that opens a new stream sends the parameter `last`.
 */
function lastEventId({ headers, query }: FastifyRequest): string | undefined {
  const header = headers["last-event-id"];
  const { last } = query as { last?: unknown };
  return typeof header === "string" && header !== ""
    ? header
    : typeof last === "string"
      ? last
      : undefined;
}
