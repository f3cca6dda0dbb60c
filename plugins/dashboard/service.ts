import type { IncomingMessage, ServerResponse } from "node:http";
import type { Awaitable, Release } from "../../kernel/index.ts";
import type { Http, Identity } from "../http/index.ts";
import type { PicoServer } from "../pico-server/index.ts";
import type { Program } from "../program/index.ts";
import type { Settings } from "../settings/index.ts";
import type { TokenSecrets, TokenStoreEvents, Tokens } from "../token-store/index.ts";
import type {
  CheckView,
  LogLevel,
  LogLineView,
  LogView,
  ProgramView,
  RejectedConnectionView,
  TestResult,
  TokenRow,
} from "./api/views.ts";
import type { DashboardConfig, DashboardInput } from "./config.ts";

export interface DashboardApi {
  /** Serves `/api/x/<name>/…`; all checks of the dashboard have passed when `handle` runs. `signIn` is absent for a
   *  Bearer. The body is unread and ends at 1 MiB: a larger one is answered with 413. A throw or rejection is answered
   *  with 500. */
  route(name: string, handle: RouteHandler): void;
}
export type RouteHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  signIn: Identity | undefined,
) => Awaitable<void>;

export interface SignInLink {
  /** Signs in when it is opened. Starts with the base path. */
  readonly path: string;
  /** Shows a button first, since chat programs open the links they preview. Starts with the base path. */
  readonly copyPath: string;
  /** Unix milliseconds. */
  readonly expiresAt: number;
  /**
   * `path` as a full address under the dashboard's private host name: `http://doorward-….localhost:18800/?token=…`.
   * For opening a browser on this machine: a cookie of this name is not sent to other programs on 127.0.0.1. Chromium,
   * Firefox and Edge resolve the name themselves. Absent if the dashboard does not listen on loopback, or serves https.
   */
  readonly privateUrl?: string;
}

export interface SignInLinks {
  /** Makes a one-time link, good for five minutes. `page`: where it leads, by default the overview; for example
   *  `/tokens`. */
  mint(page?: string): SignInLink;
}

/** The log as the signed in may see it: every line without secrets. Given to the dashboard by whoever writes it. */
export interface LogSource {
  /** The newest lines from `level` on that contain `text`, whatever its case. */
  read(wanted: {
    readonly level: LogLevel;
    readonly text: string;
    readonly limit: number;
  }): Promise<LogView>;
  /** The whole file, line by line with line ends. */
  lines(): AsyncIterable<string>;
  follow(heard: (line: LogLineView) => void): Release;
}

export interface ForwardedInfo {
  /** Address of the proxy. */
  readonly from: string;
  /** It is not among the trusted ones, as far as the visitor's address shows. */
  readonly ignored: boolean;
  /** It says how the browser came. */
  readonly host: boolean;
}

/** What the asking request shows of its way here. */
export interface RequestObservations {
  /** What a proxy said; absent when there was none. */
  readonly forwarded?: ForwardedInfo | undefined;
  /** Whether the page that asks could open a WebSocket to its own origin; absent when no page asks. */
  readonly upgrade?: boolean | undefined;
}

/** What a running launcher can tell about itself. */
export interface DoctorFacts extends RequestObservations {
  readonly state: string;
  /** Unix milliseconds. */
  readonly now: number;
  readonly addresses: readonly URL[];
  readonly channel: { readonly enabled: boolean; readonly path: string } | undefined;
  readonly tokens: readonly TokenRow[];
  /** What answers, when it is a program. */
  readonly program?: ProgramView | undefined;
  /** Clients that were refused, the newest first. */
  readonly refusals: readonly RejectedConnectionView[];
  /** Real handshakes by each method. */
  readonly handshakes: () => Promise<readonly TestResult[]>;
}
/** Looks for what is wrong in a deployment; given to the dashboard by its composition. */
export type Doctor = (facts: DoctorFacts) => Promise<readonly CheckView[]>;

/** Where the command line of the same owner reaches this process: whoever may open the socket counts as owner. */
export interface ControlSocketOptions {
  /** Path of the Unix socket (0600, in a folder of 0700), or name of the pipe. */
  readonly socket: string;
  /** A file (0600) that says address and process id, for people. */
  readonly note: string;
  readonly pid: number;
}

export type DashboardEvents = {
  /** `signIn` is 8 hex digits of the session id's digest, never the id. */
  "dashboard:signed-in": {
    signIn: string;
    address: string;
    via: "form" | "link" | "query" | "setup" | "host";
  };
  "dashboard:sign-in-refused": { code: string; address: string; via: string };
  "dashboard:signed-out": {
    signIn: string;
    reason: "sign-out" | "revoked" | "expired" | "evicted" | "rotated" | "replaced" | "maker-ended";
  };
};

export type DashboardShape = {
  config: DashboardConfig;
  section: { launcher: DashboardInput };
  emits: DashboardEvents;
  listens: Pick<TokenStoreEvents, "token-store:rotated">;
  needs: { tokens: Tokens; tokenSecrets: TokenSecrets; http: Http };
  uses: { settings: Settings; picoServer: PicoServer; program: Program };
  offers: { dashboardApi: DashboardApi; signInLinks: SignInLinks };
};
