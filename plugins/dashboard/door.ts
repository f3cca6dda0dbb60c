import type { FastifyReply, FastifyRequest } from "fastify";
import type { Clock, LauncherState, Log } from "../../kernel/index.ts";
import type { Http, Limiter, Peer } from "../http/index.ts";
import type { Program } from "../program/index.ts";
import type { PicoServer } from "../pico-server/index.ts";
import type { Settings, SettingsSection } from "../settings/index.ts";
import type { Tokens, TokenSecrets } from "../token-store/index.ts";
import type { EventFeed } from "./api/feed.ts";
import type { CheckView } from "./api/views.ts";
import type { LogSource, RequestObservations } from "./service.ts";
import type { ActivityLog } from "./activity.ts";
import type { Assets } from "./assets.ts";
import type { DashboardConfig } from "./config.ts";
import type { TokenSigner } from "./cookies.ts";
import type { DashboardEvents } from "./events.ts";
import type { HostSessions } from "./host.ts";
import type { SignInLinkStore } from "./links.ts";
import type { TokenWay } from "./pages/index.ts";
import type { PrivateHost } from "./private-host.ts";
import type { SignInSession, SignInSessions } from "./sessions.ts";
import type { SignInKeeper } from "./sign-in-keeper.ts";
import type { PluginView } from "./status.ts";

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
  emit<K extends keyof DashboardEvents>(type: K, fact: DashboardEvents[K]): void;
}

/** None where there are no settings. */
export const sectionsOf = async ({ settings }: DashboardContext): Promise<SettingsSection[]> =>
  (await settings?.describe()) ?? [];

export type SignInMethod = DashboardEvents["dashboard:signed-in"]["via"];

/** What the checks found out about a request. */
export interface RequestState {
  readonly peer: Peer;
  session: SignInSession | undefined;
  /** Version of the launcher token that came as `Authorization: Bearer`. */
  bearer: number | undefined;
  /** `Origin: null`: the body must prove that the form is ours. */
  nullForm: boolean;
}
const requestStates = new WeakMap<FastifyRequest, RequestState>();

export const setRequestState = (request: FastifyRequest, seen: RequestState): void =>
  void requestStates.set(request, seen);
export function requestState(request: FastifyRequest): RequestState {
  const found = requestStates.get(request);
  if (!found) throw new Error("the checks have not run for this request");
  return found;
}

/** Answers with a redirect to a path of this dashboard. */
export function sendRedirect(
  door: DashboardContext,
  reply: FastifyReply,
  status: 302 | 303,
  path: string,
): FastifyReply {
  return reply
    .code(status)
    .header("cache-control", "no-store")
    .header("location", door.http.url(path))
    .send();
}
export function sendPage(reply: FastifyReply, status: number, document: string): FastifyReply {
  return reply
    .code(status)
    .header("cache-control", "no-store")
    .type("text/html; charset=utf-8")
    .send(document);
}
/** A form, as opposed to JSON from a script or a program. */
export const isForm = (request: FastifyRequest): boolean =>
  (request.headers["content-type"] ?? "")
    .toLowerCase()
    .startsWith("application/x-www-form-urlencoded");
