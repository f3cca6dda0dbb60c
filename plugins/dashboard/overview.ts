import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { tokenNames } from "./api/tokens.ts";
import { sendPage, sectionsOf, requestState, type DashboardContext } from "./door.ts";
import { requireOwner } from "./guard.ts";
import type { PicoServerStatus } from "../pico-server/index.ts";
import type { SettingsSection } from "../settings/index.ts";
import { ownOrigin } from "./origins.ts";
import { overviewPage } from "./pages/index.ts";
import { tokenFromQuery, signInByQuery } from "./sign-in.ts";
import { csrfToken } from "./sign-out.ts";
import type { ChannelView, StatusView, TokenView } from "./status.ts";
import { warningsOf } from "./warnings.ts";

const channelSection = "channels.pico";

/** `GET /` and `GET /api/status`. */
export function overviewRoutes(app: FastifyInstance, door: DashboardContext): void {
  app.get(
    "/",
    { config: { access: "open" } },
    async (request, reply): Promise<FastifyReply | void> => {
      const offered = tokenFromQuery(request);
      if (offered !== undefined) return signInByQuery(door, request, reply, offered);
      await requireOwner(door, request, reply);
      if (reply.sent) return;
      const { session } = requestState(request);
      const csrf = session ? csrfToken(door, session) : "";
      const status = await statusOf(door, request);
      return sendPage(
        reply,
        200,
        overviewPage({ url: door.http.url, assets: door.assets.prefix, status, csrf }),
      );
    },
  );
  app.get("/api/status", async (request, reply) =>
    reply.header("cache-control", "no-store").send(await statusOf(door, request)),
  );
}

async function statusOf(door: DashboardContext, request: FastifyRequest): Promise<StatusView> {
  const sections = await sectionsOf(door);
  const channel = channelOf(door, request, sections);
  return {
    state: door.state(),
    version: door.version,
    startedAt: door.startedAt,
    now: door.clock.now(),
    addresses: door.http.addresses().map((url) => url.href),
    tokens: tokenNames(door)
      .filter((name) => name !== "metrics")
      .map((name) => tokenOf(door, name)),
    ...(channel ? { channel } : {}),
    signIns: door.activity.signIns(),
    refusals: door.activity.refusals(),
    warnings: await warningsOf(door, sections),
    ...(door.program ? { program: door.program.status() } : {}),
    ...(door.plugins().length > 0 ? { plugins: door.plugins() } : {}),
  };
}

function tokenOf({ tokens }: DashboardContext, name: string): TokenView {
  const { source, managedByEnv } = tokens.info(name);
  return { name, source, managedByEnv };
}

/** `sections`: described before, so that who changes what was shown does not overwrite what was not. */
export function channelOf(
  door: DashboardContext,
  request: FastifyRequest,
  sections: readonly SettingsSection[],
): ChannelView | undefined {
  if (!door.picoServer) return undefined;
  const section = sections.find(({ section: name }) => name === channelSection);
  const status = door.picoServer.status();
  const held = section?.managedByEnv.includes("enabled");
  return {
    enabled: status.enabled,
    ...(held ? { enabledManagedBy: `${door.brand.toUpperCase()}_CHANNELS_PICO_ENABLED` } : {}),
    url: channelUrl(door, request, status),
    connections: status.connections,
    maxConnections: status.maxConnections,
    messagesIn: status.messagesIn,
    messagesOut: status.messagesOut,
    perMinute: door.activity.perMinute(),
    refusals: door.activity.clientRefusals(),
    ...(section && !held && section.etag !== "" ? { etag: section.etag } : {}),
  };
}

/** The channel as programs on the machine of the asking browser reach it. */
function channelUrl(
  door: DashboardContext,
  request: FastifyRequest,
  status: PicoServerStatus,
): string {
  const { peer } = requestState(request);
  const url = new URL(ownOrigin({ ...peer, host: door.privateHost.plainHost(peer) }));
  const [gateway] = status.listener === "gateway" ? door.http.addresses("gateway") : [];
  if (gateway) url.port = gateway.port;
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.pathname = status.path;
  return url.href;
}
