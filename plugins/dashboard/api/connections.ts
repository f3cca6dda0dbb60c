import type { FastifyInstance, FastifyRequest } from "fastify";
import { API_BODY } from "../bodies.ts";
import { sectionsOf, type Door } from "../door.ts";
import { Refusal } from "../errors.ts";
import { channelOf } from "../overview.ts";
import type { PicoConnection, PicoServer } from "../../pico-server/index.ts";
import { handshakes } from "./handshakes.ts";
import type { ChannelsView, ConnectionsView, TryView } from "./views.ts";

const MOST_PER_PAGE = 500;

function channel({ picoServer }: Door): PicoServer {
  if (!picoServer)
    throw new Refusal("not_found", { message: "This service was started without a pico channel." });
  return picoServer;
}

const fits = (connection: PicoConnection, text: string): boolean =>
  [
    connection.id,
    connection.session,
    connection.address,
    connection.method,
    connection.origin,
    connection.userAgent,
  ].some((field) => field?.toLowerCase().includes(text));

/** `GET /api/channels`, `GET /api/connections`, `DELETE /api/connections/:id`, `POST /api/channels/pico/try`. */
export function connectionRoutes(app: FastifyInstance, door: Door): void {
  app.get("/api/channels", async (request, reply) => {
    const pico = channelOf(door, request, await sectionsOf(door));
    const channels: ChannelsView["channels"] = pico ? [{ name: "pico", ...pico }] : [];
    return reply.header("cache-control", "no-store").send({ channels });
  });

  app.get("/api/connections", (request, reply) => {
    const { offset, limit, text } = pageOf(request);
    const found = channel(door)
      .connections()
      .filter((connection) => text === "" || fits(connection, text));
    const page: ConnectionsView = {
      total: found.length,
      connections: found.slice(offset, offset + limit),
    };
    return reply.header("cache-control", "no-store").send(page);
  });

  app.delete<{ Params: { id: string } }>("/api/connections/:id", (request, reply) => {
    if (!channel(door).disconnect(request.params.id)) {
      throw new Refusal("not_found", {
        message: "There is no such connection; it may be gone already.",
      });
    }
    return reply.header("cache-control", "no-store").send({ status: "ok" });
  });

  let busy = false;
  app.post("/api/channels/pico/try", { bodyLimit: API_BODY }, async (_request, reply) => {
    channel(door);
    if (busy) throw new Refusal("busy");
    busy = true;
    try {
      const results = await handshakes(door, door.tokenSecrets.reveal("pico"));
      return await reply.header("cache-control", "no-store").send({ results } satisfies TryView);
    } finally {
      busy = false;
    }
  });
}

function pageOf({ query }: FastifyRequest): { offset: number; limit: number; text: string } {
  const given = query as Record<string, unknown>;
  const whole = (name: string, otherwise: number, most: number): number => {
    const value = given[name] ?? String(otherwise);
    if (typeof value === "string" && /^\d{1,9}$/.test(value)) return Math.min(Number(value), most);
    throw new Refusal("invalid_body", { message: `"${name}" must be a whole number.` });
  };
  const text = typeof given["text"] === "string" ? given["text"].slice(0, 200).toLowerCase() : "";
  return {
    offset: whole("offset", 0, 999_999_999),
    limit: whole("limit", 100, MOST_PER_PAGE),
    text,
  };
}
