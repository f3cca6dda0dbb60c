import type { Clock, LauncherState, Log } from "../../kernel/index.ts";
import type { Http, Limiter } from "../http/index.ts";
import type { PicoServer } from "../pico-server/index.ts";
import type { Program } from "../program/index.ts";
import type { Settings } from "../settings/index.ts";
import type { TokenSecrets, Tokens } from "../token-store/index.ts";
import type { ActivityLog } from "./api/activity.ts";
import type { EventFeed } from "./api/event-feed.ts";
import type { CheckView, PluginView } from "./api/views.ts";
import type { Assets } from "./assets.ts";
import type { TokenSigner } from "./auth/cookies.ts";
import type { SignInLinkStore } from "./auth/credentials.ts";
import type { PrivateHost } from "./auth/private-host.ts";
import type { HostSessions, SignInSessions } from "./auth/sessions.ts";
import type { SignInKeeper } from "./auth/sign-in-keeper.ts";
import type { DashboardConfig } from "./config.ts";
import type { TokenWay } from "./pages/index.ts";
import type { DashboardEvents, LogSource, RequestObservations } from "./service.ts";

/** What every part of the dashboard works with. */
export interface DashboardContext {
  readonly http: Http;
  readonly tokens: Tokens;
  readonly tokenSecrets: TokenSecrets;
  readonly settings: Settings | undefined;
  readonly picoServer: PicoServer | undefined;
  /** What answers, when it is a program. */
  readonly program: Program | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly limiter: Limiter;
  readonly sessions: SignInSessions;
  readonly hostSessions: HostSessions;
  readonly keeper: SignInKeeper;
  readonly links: SignInLinkStore;
  readonly privateHost: PrivateHost;
  readonly activity: ActivityLog;
  readonly assets: Assets;
  readonly feed: EventFeed;
  /** Where log lines are read; absent: the log is not shown. */
  readonly logSource: LogSource | undefined;
  readonly doctor: ((seen?: RequestObservations) => Promise<readonly CheckView[]>) | undefined;
  readonly signer: { readonly session: TokenSigner; readonly setup: TokenSigner };
  readonly brand: string;
  readonly version: string;
  readonly startedAt: number;
  config(): DashboardConfig;
  state(): LauncherState;
  /** True once everything serves, false again when stopping. */
  serving(): boolean;
  stopping(): boolean;
  ways(): readonly TokenWay[];
  /** By other authors. */
  plugins(): readonly PluginView[];
  emit<K extends keyof DashboardEvents>(type: K, event: DashboardEvents[K]): void;
}
