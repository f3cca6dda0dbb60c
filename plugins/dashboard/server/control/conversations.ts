/** Handles the requests of `doorward conversations` on the control socket. @module */
import { unkeptChannels } from "../api/attached-channels.ts";
import { exportDocument, requireConversations } from "../api/conversations.ts";
import type { DashboardContext } from "../context.ts";
import {
  conversationListQuery,
  exportQuery,
  parseValues,
  searchQuery,
  turnsQuery,
} from "../request.ts";

interface ConversationRequest {
  readonly id: string;
  readonly query: URLSearchParams;
}
type Handler = (context: DashboardContext, request: ConversationRequest) => unknown;

/** @returns The parameters; a repeated one keeps its last value. */
const valuesOf = ({ query }: ConversationRequest): object => Object.fromEntries(query);

/** The result of an export is an `AsyncIterable` of text. */
export const conversationHandlers: Readonly<Record<string, Handler>> = {
  "GET /local/conversations": async ({ services }, request) => {
    const store = requireConversations(services);
    const page = await store.list(parseValues(conversationListQuery, valuesOf(request)));
    const notKept = unkeptChannels(services);
    return {
      conversations: page.items,
      ...(page.before !== undefined && { before: page.before }),
      ...(notKept.length > 0 && { notKept }),
    };
  },
  "GET /local/search": async ({ services }, request) => {
    const { q, ...options } = parseValues(searchQuery, valuesOf(request));
    return { hits: await requireConversations(services).search(q, options) };
  },
  "GET /local/conversations/:id": async ({ services }, request) => {
    const store = requireConversations(services);
    const conversation = await store.get(request.id);
    const { items, ...page } = await store.read(
      request.id,
      parseValues(turnsQuery, valuesOf(request)),
    );
    return { conversation, turns: items, ...page };
  },
  "GET /local/conversations/:id/export": async ({ services }, request) => {
    const { format } = parseValues(exportQuery, valuesOf(request));
    return exportDocument(services, request.id, format);
  },
  "DELETE /local/conversations/:id": async ({ services, runtime }, { id }) => {
    const store = requireConversations(services);
    await store.get(id);
    await store.forget(id);
    runtime.log.info({ conversation: id }, "a conversation was deleted on the command line");
    return { status: "ok", id };
  },
};
