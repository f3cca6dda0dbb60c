/** Endpoints that list, read, search, rename, export and delete conversations. @module */
import { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import type { Clock, Log } from "../../../../kernel/index.ts";
import type { Conversations } from "../../../conversations/index.ts";
import type { DashboardContext, ServiceContext } from "../context.ts";
import { refuse, required, unreadError } from "../errors.ts";
import {
  conversationListQuery,
  exportQuery,
  maxFormBytes,
  parseBody,
  parseQuery,
  renameBody,
  searchQuery,
  turnsQuery,
  type WithId,
} from "../request.ts";
import { consoleAccess, unkeptChannels } from "./attached-channels.ts";
import type {
  ConversationsView,
  ConversationView,
  SearchView,
} from "../../shared/conversation-views.ts";

/** How long the request for a deletion waits until nothing is left on the disk. */
const deletionWaitMs = 1_000;
const maxExports = 10;
const exportRefillMs = 6_000;
/** Memory of one export: the store returns pages of this size. */
const maxExportBytes = 4 * 1024 * 1024;
const channel = "pico";

/** @throws not_found if this deployment does not list the plugin `conversations`. */
export const requireConversations = ({ conversations }: ServiceContext): Conversations =>
  required(conversations, "This deployment keeps no conversations.");

/**
 * Exports a conversation, with its files in a JSON document.
 *
 * @throws not_found before the document begins.
 */
export async function exportDocument(
  services: ServiceContext,
  id: string,
  format: "json" | "markdown",
): Promise<AsyncIterable<string>> {
  const history = requireConversations(services);
  const conversation = await history.get(id);
  const document = history.export(id, format);
  const { media } = services;
  return media && format === "json" ? media.exportWith(document, conversation) : document;
}

/** Allows ten exports, then one every six seconds: each one reads a whole conversation. */
function createExportLimit(clock: Clock): () => void {
  let tokens = maxExports;
  let refilledAt = clock.monotonic();
  return () => {
    const gained = Math.floor((clock.monotonic() - refilledAt) / exportRefillMs);
    tokens = Math.min(maxExports, tokens + gained);
    refilledAt += gained * exportRefillMs;
    if (tokens === 0)
      throw refuse("rate_limited", {
        message: "Too many exports; wait a moment and try again.",
        retryAfterSeconds: exportRefillMs / 1_000,
      });
    tokens -= 1;
  };
}

/** @throws not_found if the id has another form than all ids of conversations. */
export function idOf({ params }: WithId): string {
  if (/^[\w-]{1,64}$/.test(params.id)) return params.id;
  throw refuse("not_found", { message: "There is no conversation with this id." });
}

/**
 * Deletes a conversation, and waits for a second until no byte of it is left.
 *
 * @returns `removing` if it cannot be read any more, and something of it is left on the disk.
 */
export async function deleteWithin(
  store: Conversations,
  id: string,
  clock: Clock,
  log: Log,
): Promise<"ok" | "removing"> {
  let timer: unknown;
  const late = new Promise<"removing">((resolve) => {
    timer = clock.setTimeout(() => resolve("removing"), deletionWaitMs);
  });
  const done = store.forget(id).then(() => "ok" as const);
  try {
    const first = await Promise.race([done, late]);
    if (first === "removing")
      done.catch((error: unknown) => {
        log.error({ err: error, conversation: id }, "a conversation was not deleted completely");
      });
    return first;
  } finally {
    clock.clearTimeout(timer);
  }
}

/** @returns One page of the list, with the channels that it lacks. */
export function listView(
  services: ServiceContext,
  conversations: ConversationsView["conversations"],
  page: { readonly before?: string },
): ConversationsView {
  const notKept = unkeptChannels(services);
  const store = requireConversations(services).health();
  return { conversations, ...page, store, ...(notKept.length > 0 && { notKept }) };
}

/** Adds the endpoints under `/api/conversations`. */
export function conversationRoutes(app: FastifyInstance, context: DashboardContext): void {
  const history = (): Conversations => requireConversations(context.services);

  app.get("/api/conversations", async (request, reply) => {
    const { session, ...query } = parseQuery(conversationListQuery, request);
    const store = history();
    const list = async () => {
      if (session === undefined) return store.list(query);
      const found = await store.find({ channel, session });
      return { items: found ? [found] : [] };
    };
    const { items, ...page } = await list();
    const view = listView(context.services, items, page);
    return reply.send(view);
  });

  app.get("/api/conversations/search", async (request, reply) => {
    const { q, ...options } = parseQuery(searchQuery, request);
    const hits = await history().search(q, options);
    return reply.send({ hits } satisfies SearchView);
  });

  app.get("/api/conversations/:id", async (request: WithId, reply) => {
    const query = parseQuery(turnsQuery, request);
    const id = idOf(request);
    const conversation = await history().get(id);
    const { items, ...page } = await history().read(id, query);
    const access = consoleAccess(context.services, conversation);
    const view: ConversationView = { conversation, turns: items, ...page, ...access };
    return reply.send(view);
  });

  app.patch("/api/conversations/:id", { bodyLimit: maxFormBytes }, async (request, reply) => {
    const id = idOf(request as WithId);
    await history().rename(id, parseBody(renameBody, request).title);
    return reply.send({ conversation: await history().get(id) });
  });

  app.delete("/api/conversations/:id", async (request: WithId, reply) => {
    const id = idOf(request);
    await history().get(id);
    const status = await deleteWithin(history(), id, context.auth.clock, context.runtime.log);
    context.runtime.log.info({ conversation: id }, "a conversation was deleted on the dashboard");
    return reply.code(status === "ok" ? 200 : 202).send({ status });
  });

  exportRoute(app, context);
}

function exportRoute(app: FastifyInstance, context: DashboardContext): void {
  const takeExport = createExportLimit(context.auth.clock);
  app.get(
    "/api/conversations/:id/export",
    { exposeHeadRoute: false },
    async (request: WithId, reply) => {
      const { format } = parseQuery(exportQuery, request);
      const id = idOf(request);
      // An unknown id must be answered with 404, which is impossible once the stream has begun.
      const document = await exportDocument(context.services, id, format);
      takeExport();
      if (!context.http.holdResponse(reply.raw, maxExportBytes)) throw unreadError();
      const [type, extension] =
        format === "json" ? ["application/json", "json"] : ["text/markdown", "md"];
      return reply
        .header("content-disposition", `attachment; filename="conversation-${id}.${extension}"`)
        .type(`${type}; charset=utf-8`)
        .send(Readable.from(document));
    },
  );
}
