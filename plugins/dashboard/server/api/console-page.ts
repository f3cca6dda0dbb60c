/** Serves pages of the console. @module */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { csrfToken } from "../auth/sign-out.ts";
import type { DashboardContext } from "../context.ts";
import { registersWorker, widenPolicy } from "./installable.ts";
import { documentFacts, sendPage } from "../reply.ts";
import { hostName, requestState } from "../request.ts";
import { renderPage, type PageData, type SiteFacts } from "../../pages/render.tsx";

/** A page and where its data comes from. */
interface ConsolePage<K extends keyof PageData> {
  readonly path: string;
  readonly page: K;
  readonly title: string;
  /** Entry of the navigation. @defaultValue `path` */
  readonly route?: string;
  readonly data: (request: FastifyRequest) => Promise<PageData[K]>;
}

/** Adds the route of a page for signed-in browsers. */
export function consolePage<K extends keyof PageData>(
  app: FastifyInstance,
  context: DashboardContext,
  { path, page, title, route = path, data }: ConsolePage<K>,
): void {
  app.get(path, async (request, reply) =>
    sendConsolePage(context, request, reply, { page, title, route, data: await data(request) }),
  );
}

/** A page with its data. */
interface PageAnswer<K extends keyof PageData> extends Required<
  Pick<ConsolePage<K>, "page" | "title" | "route">
> {
  readonly data: PageData[K];
  /** @defaultValue `200` */
  readonly status?: number;
}

/** Sends a page to a signed-in browser. */
export function sendConsolePage<K extends keyof PageData>(
  context: DashboardContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { page, title, route, data, status = 200 }: PageAnswer<K>,
): FastifyReply {
  const isInstallable = registersWorker(request, page);
  if (isInstallable) widenPolicy(reply);
  const site = {
    ...siteFacts(context, request),
    title,
    route,
    ...(isInstallable && { isInstallable }),
    ...(isInstallable && context.site.offers("push") && { notifies: true }),
  };
  const now = context.auth.clock.now();
  const preloads = context.site.assets.preloads[page];
  return sendPage(reply, status, renderPage({ page, site, now, data, preloads }));
}

function siteFacts(
  { site, auth }: DashboardContext,
  request: FastifyRequest,
): Omit<SiteFacts, "title" | "route"> {
  const { session, peer } = requestState(request);
  return {
    ...documentFacts(site, request),
    version: site.version,
    host: hostName(site.privateHost.plainHost(peer)),
    csrf: session ? csrfToken(auth, session) : "",
  };
}
