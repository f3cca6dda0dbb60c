/** The dashboard plugin: sign-in, setup, pages and their API behind one launcher token. @module */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";
import type { Plugin, Scope } from "../../kernel/index.ts";
import { createActivityLog } from "./server/api/activity.ts";
import { otherChannels } from "./server/api/attached-channels.ts";
import { ConversationFlags } from "./server/api/flags.ts";
import { EventFeed, publishEvents } from "./server/api/event-feed.ts";
import { bearerOwner } from "./server/api/events.ts";
import { Figures, totalsOf } from "./server/api/figures.ts";
import {
  createPluginRoutes,
  sendInternalError,
  type PluginRoutes,
} from "./server/api/plugin-routes.ts";
import { loadAssets } from "./server/assets.ts";
import { tokenSigner } from "./server/auth/cookies.ts";
import { createSignInLinks, ownerLink } from "./server/auth/credentials.ts";
import { isListedHost } from "./server/auth/guard.ts";
import { explainPage, pageIdentity } from "./server/auth/page-sign-in.ts";
import { PrivateHost } from "./server/auth/private-host.ts";
import { ProxySignIn, proxyToken } from "./server/auth/proxy-sign-in.ts";
import { HostSessions, SignInSessions } from "./server/auth/sessions.ts";
import { SignInKeeper } from "./server/auth/sign-in-keeper.ts";
import { dashboardSchema } from "./server/config.ts";
import { dashboardErrors } from "./server/errors.ts";
import type {
  AuthContext,
  DashboardContext,
  ServiceContext,
  SiteContext,
} from "./server/context.ts";
import { controlRoutes } from "./server/control/routes.ts";
import { runDoctor } from "./server/doctor.ts";
import { healthProblem, sendOk, sendUpdated, updated } from "./server/health.ts";
import { ProbeGrants } from "./server/probe/grants.ts";
import { PublicCheckRunner } from "./server/probe/public-checks.ts";
import { serveProbe } from "./server/probe/routes.ts";
import type {
  ControlSocketOptions,
  DashboardApi,
  DashboardShape,
  Doctor,
  LogSource,
  PublicCheck,
} from "./server/service.ts";
import type { PluginView, TokenWay } from "./shared/views.ts";

export type {
  DashboardShape,
  DashboardEvents,
  DashboardApi,
  Doctor,
  DoctorFacts,
  ControlSocketOptions,
  LogSource,
  PublicCheck,
  PublicCheckOptions,
  RouteHandler,
  SignInLink,
  SignInLinks,
} from "./server/service.ts";
export type {
  AnsweredView,
  ListedQuestion,
  QuestionsView,
  QuestionView,
} from "./shared/question-views.ts";
export type { ProbeGrant } from "./server/probe/contract.ts";
export type { ProbeFacts } from "./shared/probe.ts";
export type { KeysView, KeyView, NewKeyView } from "./shared/key-views.ts";
export type { ProtocolStatus } from "./shared/protocols.ts";
export type { DashboardConfig } from "./server/config.ts";
export type {
  CheckView,
  LogLevel,
  LogLineView,
  LogView,
  TokenRow,
  TestResult,
  PluginView,
  StatusView,
  TokenWay,
} from "./shared/views.ts";

/** Options of `dashboard`. All are optional. */
export interface DashboardOptions {
  /** First part of the cookie names. @defaultValue `"service"` */
  readonly brand?: string;
  /** Version of the product, shown on the pages after sign-in. @defaultValue `""` */
  readonly version?: string;
  /** Starts this launcher with a program, whose words follow: `npx doorward run -port 8080 --`.
   *  With it, the overview has the guide of a first visit. */
  readonly runCommand?: string;
  /** Tells whether the echo answers, because there is no program. @defaultValue `false` */
  readonly echoes?: () => boolean;
  /** Where the owner of this deployment can read the launcher token. @defaultValue an empty list */
  readonly ways?: () => readonly TokenWay[];
  /** Source of the page Activity. Without it, the log endpoints answer with 404. */
  readonly log?: LogSource;
  /** Runs the doctor checks. Without it, the doctor endpoint answers with 404. */
  readonly doctor?: Doctor;
  /** Checks the way from outside. Without it, there is no probe for such checks. */
  readonly publicCheck?: PublicCheck;
  /** Third-party plugins and their states. @defaultValue an empty list */
  readonly plugins?: () => readonly PluginView[];
  /** Control socket for commands of the owner. Without it, no socket is opened. */
  readonly local?: ControlSocketOptions;
  /** File for sign-ins if `keep_sign_ins` is on. Without it, the setting has no effect. */
  readonly signInFile?: string;
}

/**
 * Creates the dashboard plugin.
 *
 * @param options - All optional: a dashboard without them has sign-in, setup, pages and their API.
 * @returns A plugin that needs the token store and the http plugin. It uses the settings, the pico
 *   server and the program if they are loaded.
 * @example
 * import { createKernel } from "doorward";
 * import { dashboard } from "doorward/plugins/dashboard";
 * import { http } from "doorward/plugins/http";
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * const kernel = createKernel([
 *   tokenStore(memory({ launcher: token })),
 *   http({ port: 18800 }),
 *   dashboard({ version: "1.0.0" }),
 * ]);
 */
export function dashboard(options: DashboardOptions = {}): Plugin<DashboardShape> {
  return {
    name: "dashboard",
    api: 1,
    needs: { tokens: true, tokenSecrets: true, http: true },
    uses: {
      settings: true,
      picoServer: true,
      program: true,
      conversations: true,
      media: true,
      keys: true,
      decisions: true,
      records: true,
      channels: true,
      backups: true,
    },
    config: { section: "launcher", schema: dashboardSchema },
    start: (scope) => startDashboard(scope, options),
  };
}

type DashboardScope = Scope<DashboardShape>;

/** A host that names no way to see the generated token could never sign in. */
function warnOfHiddenToken({ needs, log }: DashboardScope, { ways }: DashboardOptions): void {
  if (ways !== undefined || needs.tokens.info("launcher").source !== "random") return;
  const text =
    "There was no launcher token, so the dashboard generated one and shows it nowhere. Set one, " +
    'as in tokenStore(memory({ launcher: "…" })), or open the path of signInLinks.mint().';
  log.warn({}, text);
}

async function startDashboard(scope: DashboardScope, options: DashboardOptions) {
  const { tokens, http } = scope.needs;
  const { local } = options;
  await tokens.claim("launcher", { generate: true, exposed: http.isPublic() });
  warnOfHiddenToken(scope, options);
  await tokens.claim("metrics", { exposed: http.isPublic() });
  if (scope.config().proxy_sign_in) await tokens.claim(proxyToken, { exposed: true });
  const { sessions, keeper } = await openSignIns(scope, options);
  const phase = { serving: false, stopping: false };
  const grants = new ProbeGrants(scope.clock, scope.random);
  const plugins = createPluginRoutes();
  const context = createContext(scope, options, {
    sessions,
    keeper,
    phase,
    grants,
    plugins,
  });
  const { feed } = context.observers;
  signInByProxy(scope, context);
  scope.onStop(scope.uses.channels?.recordTimes() ?? (() => undefined));
  scope.onConfig(async ({ keep_sign_ins: isOn }, before) => {
    if (isOn === before.keep_sign_ins) return;
    if (options.signInFile === undefined) return { ignored: ["keep_sign_ins"] };
    await keeper.turn(isOn);
  });
  scope.on("token-store:rotated", ({ name, version: current }) => {
    if (name === proxyToken) context.proxySignIn.endAll();
    if (name !== "launcher") return;
    sessions.endBefore(current);
    keeper.rotate();
    feed.end(bearerOwner, "rotated");
  });
  publishEvents(scope, feed, context.observers.activity);
  const { flags } = context.services;
  if (flags)
    scope.onStop(
      flags.watch((conversation) => feed.publish("flags", { at: scope.clock.now(), conversation })),
    );
  serve(scope, context, plugins, grants);
  scope.on("kernel:state-changed", () => {
    phase.serving = true;
  });
  scope.on("kernel:stop-begun", () => {
    phase.serving = false;
    phase.stopping = true;
  });
  scope.onReady(async () => {
    // Loaded on demand: the module brings the file library with it.
    const { openControlSocket } = local ? await import("./server/control/socket.ts") : {};
    const { clock, log } = scope;
    const control = { clock, log, http, version: context.site.version };
    const closeLocal =
      local && (await openControlSocket?.(control, local, controlRoutes(context, plugins)));
    return async () => {
      phase.serving = false;
      feed.close();
      await closeLocal?.();
    };
  });
  return {
    dashboardApi: createApi(scope, { sessions, keeper, plugins }),
    signInLinks: { mint: (page?: string) => ownerLink(context.auth, context.site, page) },
  };
}

/** Creates the service for other plugins. */
function createApi(
  { log }: DashboardScope,
  { sessions, keeper, plugins }: SignIns & { readonly plugins: PluginRoutes },
): DashboardApi {
  return {
    route: plugins.route,
    command: plugins.command,
    isSignedIn: (id) => sessions.isSignedIn(id),
    onSignOut(step) {
      sessions.onEnd((id, reason) => {
        const failed = (err: unknown): void =>
          log.error({ err }, "a plugin could not end what belongs to a sign-in");
        keeper.follow(step(id, reason).catch(failed));
      });
    },
  };
}

/** Lets the header of the proxy sign in, also on the channel. */
function signInByProxy({ needs, config, onConfig }: DashboardScope, context: DashboardContext) {
  const { proxySignIn } = context;
  proxySignIn.assertSecret();
  if (config().proxy_sign_in) {
    try {
      needs.http.registerIdentity("owner", (request) => proxySignIn.identity(request));
    } catch (cause) {
      throw dashboardErrors.PROXY_SIGN_IN_TAKEN({ cause });
    }
  }
  onConfig(({ proxy_sign_in: next }, { proxy_sign_in: before }) =>
    JSON.stringify(next) === JSON.stringify(before)
      ? undefined
      : { afterRestart: ["proxy_sign_in"] },
  );
}

interface SignIns {
  readonly sessions: SignInSessions;
  readonly keeper: SignInKeeper;
}

/** Opens the registry of sign-ins, with those of the previous run if they are kept. */
async function openSignIns(
  scope: DashboardScope,
  { signInFile: file }: DashboardOptions,
): Promise<SignIns> {
  const sessions = new SignInSessions(scope, () => keeper.changed());
  const keeper = new SignInKeeper(file, scope, sessions);
  scope.onStop(() => keeper.close());
  const { records, time } = await keeper.open(scope.config().keep_sign_ins);
  sessions.restore(records, scope.needs.tokens.info("launcher").version, time);
  return { sessions, keeper };
}

/** A change of the setting takes effect after a restart. */
function createProxySignIn({ needs, log, random, after, config }: DashboardScope): ProxySignIn {
  const { http, tokenSecrets: secrets } = needs;
  const { proxy_sign_in: setting } = config();
  return new ProxySignIn({ http, secrets, log, random, after, setting });
}

function createContext(
  scope: DashboardScope,
  options: DashboardOptions,
  {
    sessions,
    keeper,
    phase,
    grants,
    plugins: routes,
  }: SignIns & {
    readonly phase: { readonly serving: boolean; readonly stopping: boolean };
    readonly grants: ProbeGrants;
    readonly plugins: PluginRoutes;
  },
): DashboardContext {
  const { needs, uses, clock, random, after, config, lifecycle, log, emit } = scope;
  const { tokens, tokenSecrets, http } = needs;
  const { brand = "service", version = "", ways = () => [], plugins = () => [] } = options;
  const { runCommand, echoes = () => false } = options;
  const auth: AuthContext = {
    clock,
    tokens,
    sessions,
    keeper,
    config,
    limiter: http.limiter({ attempts: () => config().login_attempts_per_minute }),
    signInLinks: createSignInLinks(clock, random, sessions),
    signer: {
      session: tokenSigner(tokens, "session", () => keeper.salt),
      setup: tokenSigner(tokens, "setup"),
    },
  };
  const { conversations, records } = uses;
  const flags = conversations && records && new ConversationFlags(records, () => clock.now());
  const services: ServiceContext = { ...uses, tokenSecrets, flags, pluginViews: plugins };
  const activity = createActivityLog();
  const site: SiteContext = {
    assets: loadAssets(),
    brand,
    version,
    runCommand,
    echoes,
    privateHost: new PrivateHost(keeper.hostName, http),
    offers: routes.has,
    instance: uses.settings?.instance(),
    url: (path) => http.url(path),
    tokenHints: ways,
  };
  const { publicCheck: check } = options;
  const checking = { log, clock, random };
  const proxySignIn = createProxySignIn(scope);
  const needed = { http, services, site, proxySignIn };
  const context: DashboardContext = {
    http,
    publicChecks: check && new PublicCheckRunner(needed, grants, { check, ...checking }),
    hostSessions: new HostSessions(),
    proxySignIn,
    auth,
    services,
    site,
    runtime: {
      log,
      startedAt: clock.now(),
      state: lifecycle.state,
      serving: () => phase.serving,
      stopping: () => phase.stopping,
      emit,
    },
    observers: {
      activity,
      figures: new Figures({ clock, after, totals: () => totalsOf(services, activity) }),
      feed: createFeed(scope, options.log),
      logSource: options.log,
      doctor:
        options.doctor && ((observations) => runDoctor(context, options.doctor!, observations)),
    },
  };
  return context;
}

function createFeed(
  { uses, clock, random, after, lifecycle }: DashboardScope,
  log: LogSource | undefined,
): EventFeed {
  const traffic = () => {
    const { messagesIn = 0, messagesOut = 0, connections = 0 } = uses.picoServer?.status() ?? {};
    let queuedBytes = 0;
    for (const connection of uses.picoServer?.connections() ?? [])
      queuedBytes += connection.queuedBytes;
    const others = otherChannels(uses);
    const received = others.reduce((sum, channel) => sum + channel.received, messagesIn);
    const sent = others.reduce((sum, channel) => sum + channel.sent, messagesOut);
    const sessions = others.reduce((sum, channel) => sum + channel.sessions, 0);
    return { in: received, out: sent, connections, queuedBytes, sessions };
  };
  const epoch = Buffer.from(random(4)).toString("hex");
  return new EventFeed({ clock, after, traffic, state: lifecycle.state, log, epoch });
}

/** Seconds that a file may take to arrive. */
const fileBodyTimeoutS = 86_400;

/** Passes requests to the Fastify application, and tells other plugins which sign-in sent one. */
function serve(
  scope: DashboardScope,
  context: DashboardContext,
  plugins: PluginRoutes,
  grants: ProbeGrants,
): void {
  const { http } = scope.needs;
  const handle = createHandler(scope, context, plugins);
  http.request("/", handle);
  if (context.publicChecks) {
    serveProbe({ http, clock: scope.clock, grants, context }, handle);
    scope.onStop(() => context.publicChecks?.stop());
  }
  // The slowest allowed rate of an upload ends it earlier.
  if (scope.uses.media) http.request("/api/media", handle, { bodySeconds: fileBodyTimeoutS });
  for (const path of ["/healthz", "/readyz"]) http.request(path, handle, { anyHost: true });
  http.nameHosts((name) => isListedHost(context.auth.config().allowed_hosts, name));
  http.registerIdentity(
    "session",
    (request, peer) => pageIdentity(context, request, peer),
    (request, peer) => explainPage(context, request, peer),
  );
}

/** Codes of an import whose file is gone: an update has replaced the files of the program. */
const missingFile = ["ENOENT", "ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"];

const isHealthCheck = ({ method, url }: IncomingMessage): boolean =>
  (method === "GET" || method === "HEAD") && /^\/(healthz|readyz)(\?|$)/.test(url ?? "");

/**
 * The first request loads the application with the web framework, so that a launcher of which only
 * the channels are used does without them.
 */
function createHandler(
  { log, onStop }: DashboardScope,
  context: DashboardContext,
  plugins: PluginRoutes,
): RequestListener {
  let app: FastifyInstance | undefined;
  let loading: Promise<void> | undefined;
  let isUpdated = false;
  async function load(): Promise<void> {
    const { createApp } = await import("./server/app.ts");
    app = await createApp(context, plugins);
  }
  function fail(err: unknown): void {
    isUpdated = missingFile.includes(String((err as NodeJS.ErrnoException).code));
    log.error({ err }, isUpdated ? updated : "the dashboard could not be loaded");
  }
  async function serveFirst(request: IncomingMessage, response: ServerResponse): Promise<void> {
    loading ??= load().catch(fail);
    await loading;
    if (response.destroyed) return;
    if (app) app.routing(request, response);
    else if (isUpdated) sendUpdated(request, response);
    else sendInternalError(response);
  }
  onStop(async () => {
    await loading;
    await app?.close();
  });
  return (request, response) => {
    if (app) return app.routing(request, response);
    if (isHealthCheck(request) && !healthProblem(context, request.url!)) return sendOk(response);
    void serveFirst(request, response);
  };
}
