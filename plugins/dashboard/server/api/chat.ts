/** Data of the chat page. @module */
import type { FastifyRequest } from "fastify";
import type { DashboardContext, ServiceContext } from "../context.ts";
import type { ChatData } from "../../pages/render.tsx";
import { channelProblemOf } from "../../shared/channel-problem.ts";
import type { ConversationsView } from "../../shared/conversation-views.ts";
import { sectionsOf } from "./settings.ts";
import { listView } from "./conversations.ts";
import { channelOf } from "./status.ts";

/** @returns What the chat shows before its first request. */
export async function chatData(
  context: DashboardContext,
  request: FastifyRequest,
): Promise<ChatData> {
  const { services } = context;
  const { media, program } = services;
  const [list, sections] = await Promise.all([newest(services), sectionsOf(services)]);
  const channelProblem = channelProblemOf(channelOf(context, request, sections));
  const name = applicationName(services);
  const suggestions = services.channels?.suggestions();
  return {
    ...(name !== undefined && { name }),
    ...(list && { list }),
    ...(channelProblem && { channelProblem }),
    ...(media && { maxFileBytes: media.maxFileBytes() }),
    ...(suggestions && { suggestions }),
    ...(program && program.status().state !== "running" && { isApplicationDown: true }),
  };
}

/** @returns Undefined without a store, or while it is away; the page then asks again. */
async function newest(services: ServiceContext): Promise<ConversationsView | undefined> {
  const { conversations } = services;
  if (!conversations) return undefined;
  try {
    const { items, ...page } = await conversations.list();
    return listView(services, items, page);
  } catch {
    return undefined;
  }
}

/**
 * Names a program by its file, for example `agent` for `python3 agent.py`.
 *
 * @returns Undefined for applications of a host, which have no name.
 */
function applicationName({ program }: ServiceContext): string | undefined {
  const words = program?.status().command.split(/\s+/) ?? [];
  const file = words.findLast((word) => /^[^-].*\.\w+$/.test(word)) ?? words[0] ?? "";
  const name = file.replace(/^.*[\\/]/, "").replace(/\.\w+$/, "");
  return /^[\w.-]{1,40}$/.test(name) ? name : undefined;
}
