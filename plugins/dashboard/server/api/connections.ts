/** Endpoints for channels and their connections. @module */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { otherChannels } from "./attached-channels.ts";
import { sectionsOf } from "./settings.ts";
import { channelOf } from "./status.ts";
import { type DashboardContext, type ServiceContext } from "../context.ts";
import { refuse, required } from "../errors.ts";
import type { PicoConnection, PicoServer } from "../../../pico-server/index.ts";
import { testChannel } from "./channel-test.ts";
import type {
  ChannelsView,
  ConnectionsView,
  ConnectionView,
  TestView,
} from "../../shared/views.ts";

const maxPerPage = 500;

const requireChannel = ({ picoServer }: ServiceContext): PicoServer =>
  required(picoServer, "The pico channel is not loaded.");

const matchesFilter = (connection: PicoConnection, text: string): boolean =>
  [
    connection.id,
    connection.session,
    connection.address,
    connection.method,
    connection.user,
    connection.userName,
    connection.origin,
    connection.userAgent,
  ].some((field) => field?.toLowerCase().includes(text));

/** Connections on the overview. */
const overviewConnections = 4;

/** @returns The newest connections, as the overview shows them; undefined without a channel. */
export function newestConnections({ picoServer }: ServiceContext): ConnectionsView | undefined {
  const all = picoServer?.connections();
  return all && { total: all.length, connections: all.slice(-overviewConnections).reverse() };
}

/**
 * Adds `GET /api/channels`, `GET /api/connections`, `DELETE /api/connections/:id` and
 * `POST /api/channels/pico/try`.
 */
export function connectionRoutes(app: FastifyInstance, context: DashboardContext): void {
  app.get("/api/channels", async (request, reply) => {
    const pico = channelOf(context, request, await sectionsOf(context.services));
    const channels: ChannelsView["channels"] = pico ? [{ name: "pico", ...pico }] : [];
    const others = otherChannels(context.services);
    const view: ChannelsView = { channels, ...(others.length > 0 && { others }) };
    return reply.send(view);
  });

  app.get("/api/connections", async (request, reply) => {
    const { offset, limit, text, newestFirst } = pageQuery(request);
    const found = requireChannel(context.services)
      .connections()
      .filter((connection) => text === "" || matchesFilter(connection, text));
    if (newestFirst) found.reverse();
    const page: ConnectionsView = {
      total: found.length,
      connections: await withTitles(context.services, found.slice(offset, offset + limit)),
    };
    return reply.send(page);
  });

  app.delete<{ Params: { id: string } }>("/api/connections/:id", (request, reply) => {
    if (!requireChannel(context.services).disconnect(request.params.id)) {
      throw refuse("not_found", {
        message: "No connection has this id; it may be closed already.",
      });
    }
    return reply.send({ status: "ok" });
  });

  let busy = false;
  app.post("/api/channels/pico/try", async (_request, reply) => {
    requireChannel(context.services);
    if (busy) throw refuse("busy");
    busy = true;
    try {
      const results = await testChannel(context, context.services.tokenSecrets.reveal("pico"));
      return await reply.send({ results } satisfies TestView);
    } finally {
      busy = false;
    }
  });
}

/** Adds the titles of conversations. Without them, the list shows ids of sessions. */
async function withTitles(
  { conversations }: ServiceContext,
  connections: readonly PicoConnection[],
): Promise<readonly ConnectionView[]> {
  if (!conversations) return connections;
  const sessions = [...new Set(connections.map(({ session }) => session))];
  const found = await Promise.all(
    sessions.map(async (session) => {
      const summary = await conversations.find({ channel: "pico", session }).catch(() => undefined);
      return [session, summary?.title] as const;
    }),
  );
  const titles = new Map(found);
  return connections.map((connection) => {
    const title = titles.get(connection.session);
    return title === undefined ? connection : { ...connection, title };
  });
}

function pageQuery({ query }: FastifyRequest) {
  const parameters = query as Record<string, unknown>;
  const integer = (name: string, defaultValue: number, max: number): number => {
    const value = parameters[name] ?? String(defaultValue);
    if (typeof value === "string" && /^\d{1,9}$/.test(value)) return Math.min(Number(value), max);
    throw refuse("invalid_body", { message: `"${name}" must be a whole number.` });
  };
  const text =
    typeof parameters["text"] === "string" ? parameters["text"].slice(0, 200).toLowerCase() : "";
  return {
    offset: integer("offset", 0, 999_999_999),
    limit: integer("limit", 100, maxPerPage),
    text,
    newestFirst: parameters["newest"] === "1",
  };
}
