/**
 * Dependencies that the dashboard's parts share, grouped so that a function takes only what it
 * uses.
 *
 * @module
 */
import type { Clock, LauncherState, Log } from "../../../kernel/index.ts";
import type { Http, Limiter } from "../../http/index.ts";
import type { TokenSecrets, Tokens } from "../../token-store/index.ts";
import type { ActivityLog } from "./api/activity.ts";
import type { EventFeed } from "./api/event-feed.ts";
import type { ConversationFlags } from "./api/flags.ts";
import type { Figures } from "./api/figures.ts";
import type { CheckView, PluginView, TokenWay } from "../shared/views.ts";
import type { Assets } from "./assets.ts";
import type { SignInLinkStore, TokenSigner } from "./auth/contract.ts";
import type { PrivateHost } from "./auth/private-host.ts";
import type { ProxySignIn } from "./auth/proxy-sign-in.ts";
import type { HostSessions, SignInSessions } from "./auth/sessions.ts";
import type { SignInKeeper } from "./auth/sign-in-keeper.ts";
import type { DashboardConfig } from "./config.ts";
import type { PublicChecks } from "./probe/contract.ts";
import type { DashboardEvents, DashboardShape, LogSource, RequestObservations } from "./service.ts";

/** Tokens, sign-ins and their limits. */
export interface AuthContext {
  readonly clock: Clock;
  readonly tokens: Tokens;
  readonly limiter: Limiter;
  readonly sessions: SignInSessions;
  readonly signInLinks: SignInLinkStore;
  readonly signer: { readonly session: TokenSigner; readonly setup: TokenSigner };
  readonly keeper: SignInKeeper;
  config(): DashboardConfig;
}

/** Addresses, names and files of this dashboard. */
export interface SiteContext {
  readonly assets: Assets;
  readonly brand: string;
  readonly version: string;
  readonly privateHost: PrivateHost;
  /** Names the cookies. Undefined in a deployment without settings, or without a writable home. */
  readonly instance: string | undefined;
  /** Starts the launcher with a program, whose words follow. Undefined in other hosts. */
  readonly runCommand: string | undefined;
  /** True if the echo answers. */
  readonly echoes: () => boolean;
  /** @returns Whether a plugin serves `/api/x/<name>`. */
  offers(name: string): boolean;
  /** @returns The path with the base path in front. */
  url(path: string): string;
  /** @returns Where the owner of this deployment can read the launcher token. */
  tokenHints(): readonly TokenWay[];
}

/** Services of other plugins. Those that this deployment does not list are undefined. */
export interface ServiceContext extends Readonly<Partial<DashboardShape["uses"]>> {
  readonly tokenSecrets: TokenSecrets;
  /** Undefined without conversations or records. */
  readonly flags?: ConversationFlags | undefined;
  /** @returns Third-party plugins and their states. */
  pluginViews(): readonly PluginView[];
}

/** State, log and events of this run. */
interface RuntimeContext {
  readonly log: Log;
  /** Unix milliseconds. */
  readonly startedAt: number;
  state(): LauncherState;
  /** True from the end of startup until the stop begins. */
  serving(): boolean;
  stopping(): boolean;
  emit<K extends keyof DashboardEvents>(type: K, event: DashboardEvents[K]): void;
}

/** Sources for the pages that show recent activity, the log and the doctor checks. */
export interface ObserverContext {
  readonly activity: ActivityLog;
  readonly feed: EventFeed;
  readonly figures: Figures;
  /** Undefined if this deployment shows no log. */
  readonly logSource: LogSource | undefined;
  readonly doctor:
    | ((observations?: RequestObservations) => Promise<readonly CheckView[]>)
    | undefined;
}

/** All groups, for functions that use more than two of them. */
export interface DashboardContext {
  readonly http: Http;
  readonly hostSessions: HostSessions;
  readonly proxySignIn: ProxySignIn;
  readonly auth: AuthContext;
  readonly site: SiteContext;
  readonly services: ServiceContext;
  readonly runtime: RuntimeContext;
  readonly observers: ObserverContext;
  /** Undefined if this deployment has no check of the public URL. */
  readonly publicChecks: PublicChecks | undefined;
}
