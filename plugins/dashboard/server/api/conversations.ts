/** Endpoints that list, read, search, rename, export and delete conversations. @module */
import { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import type { Clock, Log } from "../../../../kernel/index.ts";
import type { Conversations, Page } from "../../../conversations/index.ts";
import type { DashboardContext, ServiceContext } from "../context.ts";
import { refuse, required, unreadError } from "../errors.ts";
import {
  conversationBody,
  conversationListQuery,
  exportQuery,
  maxFormBytes,
  parseBody,
  parseQuery,
  searchQuery,
  turnsQuery,
  type ConversationBody,
  type WithId,
} from "../request.ts";
import { consoleAccess, unkeptChannels } from "./attached-channels.ts";
import type { ConversationFlags } from "./flags.ts";
import type {
  ConversationsView,
  ConversationSummary,
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

/** Adds the flags, if this deployment keeps them. */
const flagged = async (
  { flags }: ServiceContext,
  conversations: readonly ConversationSummary[],
): Promise<readonly ConversationSummary[]> => (flags ? flags.addTo(conversations) : conversations);

/** @returns One page of the list, with the channels that it lacks. */
export async function listView(
  services: ServiceContext,
  { items, ...page }: Page<ConversationSummary>,
): Promise<ConversationsView> {
  const conversations = await flagged(services, items);
  const notKept = unkeptChannels(services);
  const store = requireConversations(services).health();
  return {
    conversations,
    ...page,
    store,
    ...(services.flags && { keepsFlags: true }),
    ...(notKept.length > 0 && { notKept }),
  };
}

/** @throws not_found if this deployment does not list the plugin `records`. */
const requireFlags = ({ flags }: ServiceContext): ConversationFlags =>
  required(flags, "This deployment keeps no flags: it has no plugin records.");

/** Sets the title and the flags that the body has. @returns The conversation. */
async function change(
  services: ServiceContext,
  id: string,
  { title, pinned, archived, usedAt }: ConversationBody,
): Promise<ConversationSummary> {
  const history = requireConversations(services);
  if (title !== undefined) await history.rename(id, title);
  if (pinned !== undefined || archived !== undefined) {
    const found = await history.get(id);
    const isUsedSince = usedAt !== undefined && usedAt < found.usedAt;
    const seen = isUsedSince ? undefined : found.usedAt;
    await requireFlags(services).set(found, { pinned, archived: archived ? seen : archived });
  }
  const [conversation] = await flagged(services, [await history.get(id)]);
  return conversation!;
}

/** Adds the endpoints under `/api/conversations`. */
export function conversationRoutes(app: FastifyInstance, context: DashboardContext): void {
  const history = (): Conversations => requireConversations(context.services);

  app.get("/api/conversations", async (request, reply) => {
    const { session, flag, ...query } = parseQuery(conversationListQuery, request);
    const store = history();
    const list = async (): Promise<Page<ConversationSummary>> => {
      if (flag !== undefined) return requireFlags(context.services).list(store, flag, query);
      if (session === undefined) return store.list(query);
      const found = await store.find({ channel, session });
      return { items: found ? [found] : [] };
    };
    return reply.send(await listView(context.services, await list()));
  });

  app.get("/api/conversations/search", async (request, reply) => {
    const { q, ...options } = parseQuery(searchQuery, request);
    const hits = await history().search(q, options);
    return reply.send({ hits } satisfies SearchView);
  });

  app.get("/api/conversations/:id", async (request: WithId, reply) => {
    const query = parseQuery(turnsQuery, request);
    const id = idOf(request);
    const stored = await history().get(id);
    const [conversation = stored] = await flagged(context.services, [stored]);
    const { items, ...page } = await history().read(id, query);
    const access = consoleAccess(context.services, conversation);
    const view: ConversationView = { conversation, turns: items, ...page, ...access };
    return reply.send(view);
  });

  app.patch("/api/conversations/:id", { bodyLimit: maxFormBytes }, async (request, reply) => {
    const id = idOf(request as WithId);
    const body = parseBody(conversationBody, request);
    return reply.send({ conversation: await change(context.services, id, body) });
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
