/** Handles the requests of the command line on the control socket. @module */
import { pipeline, Readable } from "node:stream";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { revokeSession, sessionList } from "../api/sessions.ts";
import { decisionsView } from "../api/decisions.ts";
import { createKey, keysView, revokeKey, rotateKey } from "../api/keys.ts";
import { requireClaimedToken, rotateToken, tokensView } from "../api/tokens.ts";
import { accessView, changeAccess } from "./access.ts";
import {
  controlAccessBody,
  controlAnswerBody,
  controlKeyBody,
  controlKeyNameBody,
  controlStopBody,
  controlTokenBody,
  controlUnblockBody,
  conversationListQuery,
  exportQuery,
  parseFields,
  parseValues,
  searchQuery,
  turnsQuery,
} from "../request.ts";
import type { PluginRoutes } from "../api/plugin-routes.ts";
import { otherChannels, unkeptChannels } from "../api/attached-channels.ts";
import { protocolStatus } from "../api/protocols.ts";
import { sectionsOf } from "../api/settings.ts";
import { fileWarnings } from "../api/status.ts";
import type { DashboardContext } from "../context.ts";
import { unblock } from "../api/unblock.ts";
import { httpErrors, refuse } from "../errors.ts";
import { ownerLink } from "../auth/credentials.ts";
import { toHttpError } from "../reply.ts";
import { deleteWithin, exportDocument, requireConversations } from "../api/conversations.ts";
import {
  answerQuestion,
  questionsWithCalls,
  sessionOf,
  requireChannels,
  toAnswered,
} from "../api/questions.ts";

interface ControlRequest {
  /** Last segment of a path that ends in `:id`. */
  readonly id: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

/** @returns The parameters; a repeated one keeps its last value. */
const valuesOf = ({ query }: ControlRequest): object => Object.fromEntries(query);

type ControlHandler = (context: DashboardContext, input: ControlRequest) => unknown;

/**
 * Stops the answers of one session. Without a name, it must be the only one with an answer. If
 * sessions of several channels have the name, all of them are stopped.
 */
async function stopAnswers({ services }: DashboardContext, name: string | undefined) {
  const channels = requireChannels(services);
  const attached = channels.list().map((one) => one.name);
  const busy = attached.flatMap((channel) =>
    channels.busySessions(channel).map((session) => ({ channel, session })),
  );
  const running = [...new Set(busy.map(({ session }) => session))];
  const session = name ?? (running.length === 1 ? running[0] : undefined);
  if (session === undefined) return { running, stopped: [] };
  const named = busy.filter((address) => address.session === session);
  // Another node may work on a session that is not busy here.
  const targets = named.length > 0 ? named : attached.map((channel) => ({ channel, session }));
  const stopping = targets.map(async (to) => channels.stop(to, undefined, { id: "owner" }));
  return { running, session, stopped: (await Promise.all(stopping)).flat() };
}

/** Channels of other authors; nothing without one. */
function channelsOf({ services }: DashboardContext): object {
  const channels = otherChannels(services);
  return channels.length > 0 ? { channels } : {};
}

/** Endpoints of the control socket. They need no sign-in: only the owner can open the socket. */
const controlHandlers: Readonly<Record<string, ControlHandler>> = {
  "GET /local/status": async (context) => ({
    ...channelsOf(context),
    state: context.runtime.state(),
    version: context.site.version,
    startedAt: context.runtime.startedAt,
    addresses: context.http.addresses().map(({ href }) => href),
    channel: context.services.picoServer?.status(),
    channelUrl: context.services.picoServer?.url(),
    protocols: protocolStatus(context.http, await sectionsOf(context.services)),
    sessions: context.auth.sessions.list().length,
    plugins: context.services.pluginViews(),
    program: context.services.program?.status(),
    store: context.services.conversations?.health(),
    backup: await context.services.backups?.view(),
    questions: (await context.services.channels?.allQuestions())?.length ?? 0,
    refusedEdits: fileWarnings(await sectionsOf(context.services)).map(({ text }) => text),
  }),
  "GET /local/backup": ({ services }) => {
    if (!services.backups) throw refuse("not_found");
    return { places: services.backups.places() };
  },
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
  /** The result is an `AsyncIterable` of text. */
  "GET /local/conversations/:id/export": async ({ services }, request) => {
    const { format } = parseValues(exportQuery, valuesOf(request));
    return exportDocument(services, request.id, format);
  },
  "DELETE /local/conversations/:id": async ({ services, runtime, auth }, { id }) => {
    const store = requireConversations(services);
    await store.get(id);
    const status = await deleteWithin(store, id, auth.clock, runtime.log);
    runtime.log.info({ conversation: id }, "a conversation was deleted on the command line");
    return { status, id };
  },
  "GET /local/decisions": (context, request) => decisionsView(context, valuesOf(request)),
  "GET /local/questions": ({ services }) => questionsWithCalls(services),
  /** The body says whether the answer counts; the status is 200 whatever it says. */
  "POST /local/questions/:id": async ({ services }, { id, body }) => {
    const { session, ...answer } = parseValues(controlAnswerBody, body ?? {});
    const found = session === undefined ? undefined : { channel: "pico", session };
    const address = found ?? (await sessionOf(services, id));
    if (!address) return toAnswered({ status: "unknown" }).body;
    const given = { ...address, id, answer, via: "cli" } as const;
    return toAnswered(await answerQuestion(services, given)).body;
  },
  "GET /local/tokens": ({ auth }) => tokensView(auth),
  "POST /local/token/show": (context, input) => {
    const { name, use = false } = parseFields(controlTokenBody, input);
    const token =
      requireClaimedToken(context.auth, name).version > 0
        ? context.services.tokenSecrets.reveal(name)
        : undefined;
    if (token === undefined) throw refuse("not_found", { message: `There is no ${name} token.` });
    if (use) context.runtime.log.debug({ name }, `a command uses the ${name} token`);
    else context.runtime.log.info({ name }, `the ${name} token was shown on the command line`);
    return { name, token, source: context.auth.tokens.info(name).source };
  },
  "POST /local/token/replace": async (context, input) => {
    const { name, token, grace } = parseFields(controlTokenBody, input);
    requireClaimedToken(context.auth, name);
    const { version: _, ...rotated } = await rotateToken(context, { which: name, token, grace });
    return { name, ...rotated };
  },
  "GET /local/keys": (context) => keysView(context),
  "POST /local/keys": (context, input) =>
    createKey(context, parseValues(controlKeyBody, input.body)),
  "POST /local/keys/rotate": (context, input) => {
    const { name, grace } = parseValues(controlKeyNameBody, input.body);
    return rotateKey(context, name, grace);
  },
  "POST /local/keys/revoke": (context, input) =>
    revokeKey(context, parseValues(controlKeyNameBody, input.body).name),
  "POST /local/links": (context) => {
    const [base] = context.http.addresses();
    if (!base) throw refuse("unavailable");
    const { path, copyPath, ...link } = ownerLink(context.auth, context.site);
    return { url: new URL(path, base).href, copyUrl: new URL(copyPath, base).href, ...link };
  },
  "GET /local/sessions": (context) => ({ sessions: sessionList(context.auth) }),
  "DELETE /local/sessions/:id": async (context, { id }) => {
    revokeSession(context.auth, id);
    await context.auth.keeper.settled();
    return { status: "ok", id };
  },
  "POST /local/unblock": (context, input) => {
    const { address } = parseFields(controlUnblockBody, input);
    unblock(context, address);
    context.runtime.log.info({ ip: address ?? "all" }, "unblocked on the command line");
    return { status: "ok", nodes: context.services.conversations?.health().nodes?.length ?? 1 };
  },
  "POST /local/stop": (context, input) =>
    stopAnswers(context, parseFields(controlStopBody, input).session),
  "POST /local/doctor": async (context) => {
    if (!context.observers.doctor) throw refuse("not_found");
    return { checks: await context.observers.doctor() };
  },
  "GET /local/access": (context) => accessView(context),
  "PUT /local/access": async (context, input) => {
    const change = parseFields(controlAccessBody, input);
    const view = await changeAccess(context, change);
    context.runtime.log.info({ url: change.publicUrl }, "the way in was set on the command line");
    return view;
  },
  /** A permission to use the probe, for one check of the public URL. */
  "POST /local/probe": (context) => {
    if (!context.publicChecks) throw refuse("not_found");
    return context.publicChecks.issue();
  },
  "DELETE /local/probe/:id": (context, { id }) => {
    context.publicChecks?.revoke(id);
    return { status: "ok" };
  },
};

/**
 * @returns The JSON body of a request, or undefined if it is empty.
 * @throws SyntaxError if the body exceeds 64 KiB or contains invalid JSON.
 */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > 65_536) throw new SyntaxError("body too large");
  }
  return text === "" ? undefined : JSON.parse(text);
}

const pathWithId =
  /^(\/local\/(?:sessions|conversations|questions|probe)\/)([\w-]{1,64})(\/export)?$/;

const isStream = (body: unknown): body is AsyncIterable<string> =>
  typeof body === "object" && body !== null && Symbol.asyncIterator in body;

/** Creates the request listener of the control socket. */
export function controlRoutes(
  context: DashboardContext,
  plugins: Pick<PluginRoutes, "commandOf">,
): RequestListener {
  async function handle(request: IncomingMessage): Promise<unknown> {
    const [path = "", search = ""] = (request.url ?? "").split("?");
    const [, collection, id = "", rest = ""] = pathWithId.exec(path) ?? [];
    const pattern = collection === undefined ? path : `${collection}:id${rest}`;
    const route = controlHandlers[`${request.method} ${pattern}`];
    const command =
      request.method === "POST"
        ? plugins.commandOf(/^\/local\/x\/([\w-]+)$/.exec(path)?.[1] ?? "")
        : undefined;
    if (!route && !command) throw refuse("not_found");
    const body = await bodyOf(request).catch(() => {
      throw refuse("invalid_body");
    });
    if (!route) return command!(body);
    return route(context, { id, query: new URLSearchParams(search), body });
  }

  return (request: IncomingMessage, response: ServerResponse): void => {
    const send = (status: number, body: unknown): void => {
      const type = "application/json; charset=utf-8";
      response.writeHead(status, {
        "content-type": type,
        "cache-control": "no-store",
        connection: "close",
      });
      response.end(JSON.stringify(body));
    };
    handle(request).then(
      (body) => {
        if (!isStream(body)) return send(200, body);
        response.writeHead(200, { "cache-control": "no-store", connection: "close" });
        // After an error, the client receives an incomplete response.
        pipeline(Readable.from(body), response, (error) => error && response.destroy());
      },
      (error: unknown) => {
        const { code, message, details } = toHttpError(
          error,
          context.runtime.log,
          `local ${request.method} ${request.url}`,
        );
        send(details.response.status ?? httpErrors[code][0], { error: code, message });
      },
    );
  };
}
