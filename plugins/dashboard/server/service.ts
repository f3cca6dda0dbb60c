/** Types that other plugins and hosts of the dashboard use. @module */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Awaitable, Release } from "../../../kernel/index.ts";
import type { ApplicationStatus, AttachedChannel, Channels } from "../../channels/index.ts";
import type { Conversations, StoreHealth } from "../../conversations/index.ts";
import type { Decisions } from "../../decisions/index.ts";
import type { Http, Identity } from "../../http/index.ts";
import type { Keys } from "../../keys/index.ts";
import type { Backups } from "../../backup/index.ts";
import type { MediaFiles } from "../../media/index.ts";
import type { PicoServer } from "../../pico-server/index.ts";
import type { OpenRecords } from "../../records/index.ts";
import type { Program } from "../../program/index.ts";
import type { Settings } from "../../settings/index.ts";
import type { TokenSecrets, TokenStoreEvents, Tokens } from "../../token-store/index.ts";
import type {
  CheckView,
  LogLevel,
  LogLineView,
  LogView,
  PluginView,
  ProgramView,
  RejectedConnectionView,
  TestResult,
  TokenRow,
} from "../shared/views.ts";
import type { ProtocolStatus } from "../shared/protocols.ts";
import type { DashboardConfig, DashboardInput } from "./config.ts";
import type { ProbeGrant } from "./probe/contract.ts";

/** Service for plugins that serve their own API below the dashboard. */
export interface DashboardApi {
  /**
   * Serves `/api/x/<name>/…` after all checks of the dashboard.
   *
   * @param name - Path segment; each name can be registered once.
   * @param handle - Receives the request with an unread body of at most 1 MiB. A larger body is
   *   answered with 413; a throw or rejection is answered with 500.
   * @throws dashboard_route_taken if another plugin serves the same name.
   */
  route(name: string, handle: RouteHandler): void;
  /**
   * Serves `POST /local/x/<name>` on the control socket, which only the owner can open.
   *
   * @param run - Receives the JSON of the command, and returns what it prints.
   * @throws dashboard_route_taken if another plugin serves the same name.
   */
  command(name: string, run: (body: unknown) => Awaitable<object>): void;
  /** @returns Whether the sign-in with the `id` of an identity is live. */
  isSignedIn(id: string): boolean;
  /**
   * Calls a step when a sign-in has ended, with its `id`. The request that ended it is answered
   * when the promise has settled.
   */
  onSignOut(step: (id: string, reason: string) => Promise<void>): void;
}
/** Handles one request. `signIn` is undefined if the request carries the launcher token instead. */
export type RouteHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  signIn: Identity | undefined,
) => Awaitable<void>;

/** A one-time link that signs in a browser as the owner. */
export interface SignInLink {
  /** Signs in as soon as it is opened. Starts with the base path. */
  readonly path: string;
  /**
   * Shows a button first, since chat programs open links for a preview. Starts with the base path.
   */
  readonly copyPath: string;
  /** Unix milliseconds. */
  readonly expiresAt: number;
  /**
   * `path` under the private host name: `http://doorward-….localhost:18800/?token=…`.
   *
   * Use it to open a browser on this machine: a cookie of this name is not sent to other programs
   * on
   * 127.0.0.1. Chromium, Firefox and Edge resolve the name themselves. Absent if the dashboard does
   * not listen on loopback, or serves https.
   */
  readonly privateUrl?: string;
}

/** Service for plugins that open the dashboard, for example from a tray icon. */
export interface SignInLinks {
  /**
   * Creates a one-time link that is valid for five minutes.
   *
   * @param page - The page to open after sign-in, such as `/security`. @defaultValue the overview
   */
  mint(page?: string): SignInLink;
}

/** Read access to the log without secrets. The host that writes the log provides it. */
export interface LogSource {
  /** @returns The newest lines at `level` or above that contain `text`, ignoring case. */
  read(filter: {
    readonly level: LogLevel;
    readonly text: string;
    readonly limit: number;
  }): Promise<LogView>;
  /** @returns The whole file, one line at a time, with line ends. */
  lines(): AsyncIterable<string>;
  /**
   * Calls `onLine` for each new line.
   *
   * @returns Ends the calls.
   */
  follow(onLine: (line: LogLineView) => void): Release;
}

/** Headers of a reverse proxy, as one request shows them. */
export interface ForwardedInfo {
  /** Address of the proxy. */
  readonly from: string;
  /** True if the client address shows that the proxy is not trusted. */
  readonly ignored: boolean;
  /** True if the proxy sends the scheme or host that the browser used. */
  readonly host: boolean;
}

/** Observations about the route of one request to the dashboard. */
export interface RequestObservations {
  /** Undefined if the request has no proxy headers. */
  readonly forwarded?: ForwardedInfo | undefined;
  /**
   * Whether the requesting page could open a WebSocket to its own origin. Undefined without a page.
   */
  readonly upgrade?: boolean | undefined;
  /** The rejection of that WebSocket, if it arrived and was rejected. */
  readonly rejection?: (RejectedConnectionView & { readonly code: string }) | undefined;
}

/** The result of sending the header of the proxy sign-in as a client. */
export interface ProxyHeaderView {
  /** `off`: the setting is off. `unreachable`: there is no public URL, or it does not answer.
   *  `stripped`: it does not arrive. `arrived`: it arrives. `signs-in`: it arrives with the secret
   *  of the proxy, so any client can sign in. */
  readonly result: "off" | "unreachable" | "stripped" | "arrived" | "signs-in";
  /** Paths at which it arrives, or signs in. */
  readonly paths: readonly string[];
}

/** State of a running launcher, as input of the doctor checks. */
export interface DoctorFacts extends RequestObservations {
  /** State of the launcher: `unconfigured`, `setup`, `running` or `rotating`. */
  readonly state: string;
  /** Unix milliseconds. */
  readonly now: number;
  /** Addresses at which the dashboard listens; empty before the port is open. */
  readonly addresses: readonly URL[];
  /**
   * Whether the pico channel is on, and its path including the base path. Undefined if the pico
   * server is not loaded.
   */
  readonly channel: { readonly enabled: boolean; readonly path: string } | undefined;
  /** Keys that clients may use at `/keys`, which is served while the channel is on. */
  readonly keys?: number;
  /** The protocols of other products whose plugins are loaded, for example the OpenAI API. */
  readonly protocols: readonly ProtocolStatus[];
  /** Channels of other authors. */
  readonly channels?: readonly AttachedChannel[];
  /** The store of conversations; undefined without one. */
  readonly store?: StoreHealth | undefined;
  /** Third-party plugins and their states. */
  readonly plugins?: readonly PluginView[];
  /** Claimed tokens without their values. */
  readonly tokens: readonly TokenRow[];
  /** The application, if it is a program. */
  readonly program?: ProgramView | undefined;
  /** The status that the application gives, if any. */
  readonly application?: ApplicationStatus | undefined;
  /** Rejected clients, newest first. */
  readonly refusals: readonly RejectedConnectionView[];
  /** Sends the header of the proxy sign-in through the public URL, as any client could. */
  readonly proxyHeader?: () => Promise<ProxyHeaderView>;
  /** Performs a real handshake with each token method. */
  readonly handshakes: () => Promise<readonly TestResult[]>;
}
/** Runs the doctor checks of a deployment. The host of the dashboard provides it. */
export type Doctor = (facts: DoctorFacts) => Promise<readonly CheckView[]>;

/** Options of one check of the public URL. */
export interface PublicCheckOptions {
  /** Leaves out what needs minutes. */
  readonly isQuick: boolean;
  /** Receives a sentence for each step. */
  report(step: string): void;
  /** Aborts when the launcher stops. */
  readonly signal: AbortSignal;
  /** Unix milliseconds. */
  readonly now: number;
  /** A secure source of random bytes. */
  readonly random: (bytes: number) => Uint8Array;
}
/** Checks the way from outside to this launcher. The host of the dashboard provides it. */
export type PublicCheck = (
  grant: ProbeGrant,
  options: PublicCheckOptions,
) => Promise<readonly CheckView[]>;

/** Location of the control socket. Any process that can open the socket acts as the owner. */
export interface ControlSocketOptions {
  /** Path of the Unix socket (mode 0600, in a folder of mode 0700), or name of the pipe. */
  readonly socket: string;
  /** A file (mode 0600) with the addresses and the process id, for people. */
  readonly note: string;
  /** Process id of the launcher, written to the note. */
  readonly pid: number;
}

/** Events of the dashboard. */
export type DashboardEvents = {
  /**
   * A browser signed in. `signIn`: the first 8 hex digits of the session digest, never the session
   * id. `address`: IP address of the browser. `via`: the form, a sign-in link, `?token=`, the setup
   * page, or a session of the host.
   */
  "dashboard:signed-in": {
    signIn: string;
    address: string;
    via: "form" | "link" | "query" | "setup" | "host";
  };
  /**
   * A sign-in failed or was rate-limited. `code`: the error code of the response. `address`: IP
   * address of the browser. `via`: how it tried to sign in, as in `dashboard:signed-in`.
   */
  "dashboard:sign-in-refused": { code: string; address: string; via: string };
  /**
   * A sign-in ended. `signIn`: the first 8 hex digits of the session digest. `evicted`: too many
   * sign-ins were open. `maker-ended`: the sign-in whose link opened this one ended.
   */
  "dashboard:signed-out": {
    signIn: string;
    reason: "sign-out" | "revoked" | "expired" | "evicted" | "rotated" | "replaced" | "maker-ended";
  };
};

/** The plugin's configuration, events and services. */
export type DashboardShape = {
  /** The validated part of the section `launcher` that belongs to the dashboard. */
  config: DashboardConfig;
  /** The section as users write it: every field is optional. */
  section: { launcher: DashboardInput };
  /** Sign-ins, failed sign-ins and sign-outs. */
  emits: DashboardEvents;
  /** A rotated launcher token signs out all browsers. */
  listens: Pick<TokenStoreEvents, "token-store:rotated">;
  /** The token store for the launcher token, the http plugin for pages and routes. */
  needs: { tokens: Tokens; tokenSecrets: TokenSecrets; http: Http };
  /**
   * Services that add pages and figures: settings, channels, the pico channel, the program,
   * conversations, files, keys, decisions and backups. Absent ones leave their pages out. The
   * channels service also stops answers for the command line.
   */
  uses: {
    settings: Settings;
    channels: Channels;
    picoServer: PicoServer;
    program: Program;
    conversations: Conversations;
    media: MediaFiles;
    keys: Keys;
    decisions: Decisions;
    backups: Backups;
    /** Keeps the flags of conversations. */
    records: OpenRecords;
  };
  /** Routes below the dashboard for other plugins, and one-time sign-in links. */
  offers: { dashboardApi: DashboardApi; signInLinks: SignInLinks };
};
