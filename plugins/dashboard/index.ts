import type { Plugin } from "../../kernel/index.ts";
import { createActivityLog } from "./api/activity.ts";
import { testChannel } from "./api/channel-test.ts";
import { createEventFeed, publishEvents } from "./api/event-feed.ts";
import { bearerOwner } from "./api/events.ts";
import { createPluginRoutes } from "./api/plugin-routes.ts";
import { tokensView } from "./api/tokens.ts";
import type { PluginView } from "./api/views.ts";
import { createApp } from "./app.ts";
import { loadAssets } from "./assets.ts";
import { sessionOf, tokenSigner } from "./auth/cookies.ts";
import { createSignInLinks } from "./auth/credentials.ts";
import { hostIsAllowed, isSameOrigin } from "./auth/guard.ts";
import { ownerLink } from "./auth/owner-links.ts";
import { createPrivateHost } from "./auth/private-host.ts";
import { createHostSessions, createSignInSessions, toIdentity } from "./auth/sessions.ts";
import { createSignInKeeper } from "./auth/sign-in-keeper.ts";
import { dashboardSchema } from "./config.ts";
import type { DashboardContext } from "./context.ts";
import { controlRoutes } from "./control/routes.ts";
import type { TokenWay } from "./pages/index.ts";
import type { ControlSocketOptions, DashboardShape, Doctor, LogSource } from "./service.ts";
import { toRejectedConnection } from "./ui/text/rejections.ts";

export type {
  DashboardShape,
  DashboardEvents,
  DashboardApi,
  Doctor,
  DoctorFacts,
  ControlSocketOptions,
  LogSource,
  RouteHandler,
  SignInLink,
  SignInLinks,
} from "./service.ts";
export type { DashboardConfig } from "./config.ts";
export type {
  CheckView,
  LogLevel,
  LogLineView,
  LogView,
  TokenRow,
  TestResult,
  PluginView,
  StatusView,
} from "./api/views.ts";
export type { TokenWay } from "./pages/index.ts";

export interface DashboardOptions {
  /** First part of the cookie names; default `service`. */
  readonly brand?: string;
  /** Shown to the signed in. */
  readonly version?: string;
  /** The ways in which the owner of this deployment can see the launcher token; default none. */
  readonly ways?: () => readonly TokenWay[];
  /** For the log page; without it there is none. */
  readonly log?: LogSource;
  readonly doctor?: Doctor;
  /** Plugins by other authors and how they fare. */
  readonly plugins?: () => readonly PluginView[];
  /** A socket for commands of the owner; without it there is none. */
  readonly local?: ControlSocketOptions;
  /** Where sign-ins are stored if `keep_sign_ins` is on; without it the setting has no effect. */
  readonly signInFile?: string;
}

/** The dashboard: sign-in, setup, sign-out, pages and their API, behind one launcher token. */
export function dashboard(options: DashboardOptions = {}): Plugin<DashboardShape> {
  const {
    brand = "service",
    version = "",
    ways = () => [],
    log: logSource,
    doctor,
    local,
  } = options;
  return {
    name: "dashboard",
    api: 1,
    needs: { tokens: true, tokenSecrets: true, http: true },
    uses: { settings: true, picoServer: true, program: true },
    config: { section: "launcher", schema: dashboardSchema },
    async start(scope) {
      const {
        needs: { tokens, tokenSecrets, http },
        uses,
        clock,
        random,
        after,
        config,
        lifecycle,
        log,
        emit,
      } = scope;
      await tokens.claim("launcher", { generate: true, exposed: http.isPublic() });
      await tokens.claim("metrics");
      let serving = false;
      let stopping = false;
      const messages = (): number => {
        const status = uses.picoServer?.status();
        return status ? status.messagesIn + status.messagesOut : 0;
      };
      const sessions = createSignInSessions({
        clock,
        random,
        after,
        onChange: () => keeper.changed(),
        onEnd: ({ signIn }, reason) => {
          log.info({ signIn, reason }, "signed out");
          emit("dashboard:signed-out", { signIn, reason });
        },
      });
      const keeper = createSignInKeeper({
        file: options.signInFile,
        log,
        random,
        records: sessions.records,
      });
      scope.onStop(keeper.close);
      sessions.restore(await keeper.open(config().keep_sign_ins), tokens.info("launcher").version);
      const plugins = createPluginRoutes();
      const traffic = () => {
        const status = uses.picoServer?.status();
        const queuedBytes = (uses.picoServer?.connections() ?? []).reduce(
          (sum, each) => sum + each.queuedBytes,
          0,
        );
        const { messagesIn = 0, messagesOut = 0, connections = 0 } = status ?? {};
        return { in: messagesIn, out: messagesOut, connections, queuedBytes };
      };
      const feed = createEventFeed({
        clock,
        after,
        traffic,
        state: lifecycle.state,
        log: logSource,
        epoch: Buffer.from(random(4)).toString("hex"),
      });
      const context: DashboardContext = {
        http,
        tokens,
        tokenSecrets,
        settings: uses.settings,
        picoServer: uses.picoServer,
        program: uses.program,
        clock,
        log,
        sessions,
        brand,
        version,
        limiter: http.limiter({ attempts: () => config().login_attempts_per_minute }),
        hostSessions: createHostSessions(),
        keeper,
        privateHost: createPrivateHost(keeper.hostName(), http),
        links: createSignInLinks(clock, random, sessions.isLive),
        activity: createActivityLog(clock, after, messages),
        assets: loadAssets(),
        feed,
        logSource,
        doctor:
          doctor &&
          (async (seen) =>
            doctor({
              ...seen,
              state: lifecycle.state(),
              now: clock.now(),
              addresses: http.addresses(),
              channel: uses.picoServer?.status(),
              program: uses.program?.status(),
              tokens: (await tokensView(context)).tokens,
              refusals: context.activity.clientRefusals().map(toRejectedConnection),
              handshakes: () => testChannel(context, tokenSecrets.reveal("pico")),
            })),
        signer: {
          session: tokenSigner(tokens, "session", keeper.salt),
          setup: tokenSigner(tokens, "setup"),
        },
        startedAt: clock.now(),
        config,
        ways,
        emit,
        plugins: options.plugins ?? (() => []),
        state: lifecycle.state,
        serving: () => serving,
        stopping: () => stopping,
      };
      const app = await createApp(context, plugins);
      scope.onStop(() => app.close());
      scope.onConfig(async ({ keep_sign_ins: isOn }, before) => {
        if (isOn === before.keep_sign_ins) return;
        if (options.signInFile === undefined) return { ignored: ["keep_sign_ins"] };
        await keeper.turn(isOn);
      });
      scope.on("token-store:rotated", ({ name, version: current }) => {
        if (name !== "launcher") return;
        sessions.endBefore(current);
        keeper.rotate();
        feed.end(bearerOwner, "rotated");
      });
      publishEvents(scope, feed, context.activity);
      http.request("/", (request, response) => app.routing(request, response));
      for (const path of ["/healthz", "/readyz"])
        http.request(path, (request, response) => app.routing(request, response), {
          anyHost: true,
        });
      http.registerIdentity("session", (request, peer) => {
        if (!hostIsAllowed(context, peer) || !isSameOrigin(request, peer)) return undefined;
        const session = sessionOf(context, request.headers, peer);
        return session && toIdentity(session);
      });
      scope.on("kernel:state-changed", () => {
        serving = true;
      });
      scope.on("kernel:stop-begun", () => {
        serving = false;
        stopping = true;
      });
      scope.onReady(async () => {
        // Loaded where there is one: it brings what reads and writes files.
        const { openControlSocket } = local ? await import("./control/socket.ts") : {};
        const closeLocal =
          local && (await openControlSocket?.(context, local, controlRoutes(context)));
        return async () => {
          serving = false;
          feed.close();
          await closeLocal?.();
        };
      });
      return {
        dashboardApi: { route: plugins.route },
        signInLinks: { mint: (page) => ownerLink(context, page) },
      };
    },
  };
}
