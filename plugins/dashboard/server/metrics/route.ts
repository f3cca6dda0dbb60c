/** `GET /metrics`. @module */
import type { FastifyInstance } from "fastify";
import { otherChannels } from "../api/attached-channels.ts";
import type { DashboardContext, ServiceContext } from "../context.ts";
import type { MetricsSnapshot } from "./definitions.ts";

function storeOf({ conversations }: ServiceContext): MetricsSnapshot["store"] {
  const metrics = conversations?.metrics();
  return conversations && metrics && { health: conversations.health(), metrics };
}

/**
 * Adds `GET /metrics` for a session, the launcher token, or the metrics token, which opens nothing
 * else.
 */
export function metricsRoute(app: FastifyInstance, context: DashboardContext): void {
  const read = (): MetricsSnapshot => ({
    pico: context.services.picoServer?.metrics(),
    state: context.runtime.state(),
    ready: context.runtime.serving() && context.runtime.state() !== "unconfigured",
    version: context.site.version,
    sessions: context.auth.sessions.list().length,
    clientFaults: context.http.clientFaults(),
    questions: context.services.channels?.questionCounts(),
    channels: otherChannels(context.services),
    store: storeOf(context.services),
  });
  let library: Promise<{ contentType: string; text: () => Promise<string> }> | undefined;
  const load = async () => {
    const { contentType, createExposition } = await import("./exposition.ts");
    return { contentType, text: createExposition(read) };
  };

  app.get("/metrics", { config: { tokens: ["launcher", "metrics"] } }, async (_request, reply) => {
    const { contentType, text } = await (library ??= load());
    return reply.header("content-type", contentType).send(await text());
  });
}
