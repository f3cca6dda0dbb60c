/** Serves the pages for signed-in browsers. @module */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { requireOwner } from "../auth/guard.ts";
import { signInByQuery, tokenFromQuery } from "../auth/sign-in.ts";
import { consolePage } from "./console-page.ts";
import type { DashboardContext, ServiceContext } from "../context.ts";
import { sendRedirect } from "../reply.ts";
import { cookieValues, requestState } from "../request.ts";
import { otherChannels } from "./attached-channels.ts";
import { newestConnections } from "./connections.ts";
import { keysView } from "./keys.ts";
import { questionsView } from "./questions.ts";
import { protocolViews } from "./protocols.ts";
import { sessionList } from "./sessions.ts";
import { lastingAddresses } from "./installable.ts";
import { sectionsOf, settingsView } from "./settings.ts";
import { channelOf, hasGreeted, statusOf } from "./status.ts";
import { tokensView } from "./tokens.ts";
import type { ChatData } from "../../pages/render.tsx";
import { channelProblemOf } from "../../shared/channel-problem.ts";
import type { ConversationsView } from "../../shared/conversation-views.ts";
import { listView } from "./conversations.ts";

/** Old address of a page -> its new one. */
const movedPages: Readonly<Record<string, string>> = {
  "/connect": "/clients",
  "/connections": "/clients/connections",
  "/conversations": "/chat",
  "/log": "/activity",
  "/sessions": "/security",
  "/tokens": "/security",
};

/** @returns The first page: the chat as soon as there is something to talk to or to read. */
const homeOf = (context: DashboardContext): string => (hasGreeted(context) ? "/chat" : "/overview");

/** Adds the pages that require a sign-in. */
export function pageRoutes(app: FastifyInstance, context: DashboardContext): void {
  homeRoute(app, context);
  consolePage(app, context, {
    path: "/overview",
    page: "overview",
    title: "Overview",
    data: async (request) => ({
      status: await statusOf(context, request),
      guide: cookieValues(request.headers.cookie, "guide")[0] !== "off",
      figures: context.observers.figures.view(),
      connections: newestConnections(context.services),
      ...(context.services.channels && { questions: await questionsView(context.services) }),
    }),
  });
  for (const path of ["/chat", "/chat/:name"])
    consolePage(app, context, {
      path,
      page: "chat",
      title: "Chat",
      route: "/chat",
      data: (request) => chatData(context, request),
    });
  consolePage(app, context, {
    path: "/clients",
    page: "clients",
    title: "Clients",
    data: async (request) => {
      const sections = await sectionsOf(context.services);
      const channel = channelOf(context, request, sections);
      const protocols = channel ? protocolViews(context.site, sections, channel.url) : [];
      return { protocols, ...(channel && { channel }) };
    },
  });
  consolePage(app, context, {
    path: "/clients/connections",
    page: "connections",
    title: "Clients",
    route: "/clients",
    data: () => {
      const status = context.services.picoServer?.status();
      const others = otherChannels(context.services);
      return Promise.resolve({
        count: status?.connections ?? 0,
        max: status?.maxConnections,
        ...(others.length > 0 && { others }),
      });
    },
  });
  consolePage(app, context, {
    path: "/activity",
    page: "activity",
    title: "Activity",
    data: ({ query }) => Promise.resolve(parseQueryTexts(query, ["q", "level", "line"])),
  });
  consolePage(app, context, {
    path: "/doctor",
    page: "doctor",
    title: "Doctor",
    data: () => Promise.resolve({}),
  });
  consolePage(app, context, {
    path: "/security",
    page: "security",
    title: "Security",
    data: async (request) => ({
      tokens: await tokensView(context.auth),
      ...(context.services.keys && { keys: keysView(context) }),
      hasDecisions: context.services.decisions !== undefined,
      sessions: { sessions: sessionList(context.auth, requestState(request).session) },
      status: await statusOf(context, request),
    }),
  });
  settingsPages(app, context);
  for (const [path, target] of Object.entries(movedPages)) {
    app.get(path, (_request, reply) => sendRedirect(context.site, reply, 301, target));
  }
}

/** Adds the page of settings, and an address for each of its sections. */
function settingsPages(app: FastifyInstance, context: DashboardContext): void {
  consolePage(app, context, {
    path: "/settings/notifications",
    page: "notifications",
    title: "Notifications",
    route: "/settings",
    data: async (request) => {
      const lasting = lastingAddresses(context, request, "/settings/notifications");
      return {
        settings: await settingsView(context),
        isOffered: context.site.offers("push"),
        now: context.auth.clock.now(),
        ...(lasting && { lasting }),
      };
    },
  });
  for (const path of ["/settings", "/settings/:section"]) {
    consolePage(app, context, {
      path,
      page: "settings",
      title: "Settings",
      route: "/settings",
      data: async ({ params }) => {
        const { section } = params as { section?: string };
        const program =
          context.services.program?.status().command ??
          (context.site.echoes() ? "echo" : undefined);
        return {
          settings: await settingsView(context),
          ...(program !== undefined && { program }),
          ...(section && { section }),
        };
      },
    });
  }
}

const maxQueryText = 200;

/** Reads texts from the query of a page. Repeated parameters are ignored. */
function parseQueryTexts<K extends string>(
  query: unknown,
  names: readonly K[],
): { readonly [name in K]?: string } {
  const found = names.flatMap((name) => {
    const value = (query as Record<string, unknown>)[name];
    return typeof value === "string" ? [[name, value.slice(0, maxQueryText)]] : [];
  });
  return Object.fromEntries(found) as { readonly [name in K]?: string };
}

/** Adds `GET /`, which also signs in with `?token=`. */
function homeRoute(app: FastifyInstance, context: DashboardContext): void {
  app.get(
    "/",
    { config: { access: "open" } },
    async (request, reply): Promise<FastifyReply | void> => {
      const token = tokenFromQuery(request);
      if (token !== undefined) return signInByQuery(context, request, reply, token);
      await requireOwner(context, request, reply);
      if (reply.sent) return;
      return sendRedirect(context.site, reply, 303, homeOf(context));
    },
  );
}

/** @returns What the chat shows before its first request. */
async function chatData(context: DashboardContext, request: FastifyRequest): Promise<ChatData> {
  const { services } = context;
  const { media, program } = services;
  const [list, sections] = await Promise.all([newest(services), sectionsOf(services)]);
  const channelProblem = channelProblemOf(channelOf(context, request, sections));
  const isEcho = context.site.echoes();
  const name = applicationName(services) ?? (isEcho ? "Echo" : undefined);
  const suggestions = services.channels?.suggestions();
  return {
    ...(name !== undefined && { name }),
    ...(isEcho && { isEcho }),
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
    return await listView(services, await conversations.list());
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
