/* What the API answers, in the shapes that pages read. Times are Unix milliseconds. No token in any of them, but in the
 * two that exist to show one. */

export interface TokenRow {
  readonly name: string;
  readonly source: "env" | "security" | "config" | "random" | "host" | "none";
  readonly managedByEnv: boolean;
  /** The environment variable that holds it or could. */
  readonly variable?: string;
  /** When it was replaced, or its file written. */
  readonly changedAt?: number;
  /** Why it is weak. */
  readonly concern?: string;
  /** Places of lower precedence that hold a value too, and whether it is the same one. */
  readonly others: readonly { readonly source: string; readonly same: boolean }[];
}
export interface TokensView {
  readonly tokens: readonly TokenRow[];
}

/** The new value, shown once. */
export interface RotatedView {
  readonly which: "launcher" | "pico";
  readonly token: string;
  readonly source: string;
}

export interface SessionView {
  /** 8 hex digits; the `signIn` of events. */
  readonly id: string;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  readonly expiresAt: number;
  readonly address: string;
  readonly userAgent: string;
  /** The one that asks. */
  readonly current: boolean;
  /** The sign-in whose link opened this one. */
  readonly maker?: string;
}
export interface SessionsView {
  readonly sessions: readonly SessionView[];
}

export interface SettingsSectionView {
  readonly section: string;
  /** JSON Schema draft-07. */
  readonly schema: object;
  readonly value: unknown;
  /** For `If-Match`. */
  readonly etag: string;
  /** Fields that can be changed here now. */
  readonly editable: readonly string[];
  /** Field -> the environment variable that holds it. */
  readonly managedByEnv: Readonly<Record<string, string>>;
  /** Field -> the flag of the command line that holds it, above the environment: `-port`. */
  readonly managedByFlag: Readonly<Record<string, string>>;
  /** Why what stands in the file is not in use. */
  readonly problem?: string;
}
export interface SettingsView {
  readonly sections: readonly SettingsSectionView[];
}
export interface SettingsChangedView {
  readonly etag: string;
  /** Fields that act at once, and fields that wait for a restart. */
  readonly now: readonly string[];
  readonly afterRestart: readonly string[];
}

export interface ChannelsView {
  readonly channels: readonly ({ readonly name: string } & ChannelView)[];
}

/** A `PicoConnection`, said again: pages are checked without the server's types and their Node. */
export interface ConnectionView {
  readonly id: string;
  readonly session: string;
  readonly address: string;
  readonly method: "header" | "subprotocol" | "query" | "dashboard";
  readonly origin?: string;
  readonly userAgent?: string;
  readonly since: number;
  readonly messagesIn: number;
  readonly messagesOut: number;
  readonly queuedBytes: number;
  readonly lastHeardAt: number;
}
/** One page of them; `total`: of those that fit the filter. */
export interface ConnectionsView {
  readonly total: number;
  readonly connections: readonly ConnectionView[];
}

export type TestMethod = "header" | "subprotocol" | "query" | "requests";
export interface TestResult {
  readonly method: TestMethod;
  readonly ok: boolean;
  /** `101` or `200`, an error code of the channel, or the network's. */
  readonly code: string;
  readonly ms: number;
}
export interface TestView {
  readonly results: readonly TestResult[];
}

export interface CheckView {
  readonly id: string;
  readonly title: string;
  readonly result: "ok" | "warning" | "failed";
  readonly reason: string;
  /** The command or setting that mends it. */
  readonly fix?: string;
}
/** Why a client was refused, in words. */
export interface RejectedConnectionView {
  /** Unix milliseconds, of the latest. */
  readonly at: number;
  readonly title: string;
  /** How its token came, from where, how often. */
  readonly detail: string;
  /** What mends it. */
  readonly fix?: string;
  /** Unix milliseconds until which its address is blocked. */
  readonly blockedUntil?: number;
}
export interface DoctorView {
  readonly checks: readonly CheckView[];
}

export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];
export interface LogLineView {
  readonly at: number;
  readonly level: LogLevel;
  readonly text: string;
  readonly fields: Readonly<Record<string, unknown>>;
}
export interface LogView {
  /** The oldest first. */
  readonly lines: readonly LogLineView[];
  /** Older ones were not looked at. */
  readonly truncated: boolean;
}

/** Event names of `GET /api/events` -> their data. */
export interface FeedEvents {
  hello: { readonly resumed: boolean; readonly state: string; readonly now: number };
  state: { readonly at: number; readonly state: string };
  rate: {
    readonly at: number;
    readonly in: number;
    readonly out: number;
    readonly connections: number;
    readonly queuedBytes: number;
  };
  connected: {
    readonly at: number;
    readonly connection: string;
    readonly session: string;
    readonly address: string;
    readonly method: string;
  };
  disconnected: {
    readonly at: number;
    readonly connection: string;
    readonly session: string;
    readonly code: number;
    readonly reason: string;
    readonly initiator: string;
  };
  refused: {
    readonly at: number;
    readonly code: string;
    readonly address: string;
    readonly method?: string;
    readonly origin?: string;
    readonly retryAfterSeconds?: number;
  };
  "signed-in": {
    readonly at: number;
    readonly signIn: string;
    readonly address: string;
    readonly via: string;
  };
  "sign-in-refused": {
    readonly at: number;
    readonly code: string;
    readonly address: string;
    readonly via: string;
  };
  "signed-out": { readonly at: number; readonly signIn: string; readonly reason: string };
  program: { readonly at: number; readonly state: string; readonly restarts: number };
  token: { readonly at: number; readonly name: string; readonly what: "rotated" | "removed" };
  settings: {
    readonly at: number;
    readonly section: string;
    readonly keys?: readonly string[];
    readonly rejected?: string;
  };
  log: LogLineView;
  "log-skipped": { readonly count: number };
  missed: { readonly count: number };
  superseded: Readonly<Record<never, never>>;
  ended: { readonly reason: string };
}

/** What the overview shows and `GET /api/status` answers. No token in any field. */
export interface StatusView {
  readonly state: "unconfigured" | "setup" | "running" | "rotating";
  readonly version: string;
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly now: number;
  readonly addresses: readonly string[];
  readonly tokens: readonly TokenView[];
  /** Absent when no pico channel is loaded. */
  readonly channel?: ChannelView;
  /** The newest first, at most 10. */
  readonly signIns: readonly SignInView[];
  /** The newest first, at most 10. */
  readonly refusals: readonly RejectionView[];
  readonly warnings: readonly WarningView[];
  /** The program that answers; absent when none does. */
  readonly program?: ProgramView;
  /** By other authors, in their order; absent when there are none. */
  readonly plugins?: readonly PluginView[];
}
/** As the plugin `command` tells. */
export interface ProgramView {
  /** `waiting`: it ended and is started again soon; `ended`: it stays so. */
  readonly state: "running" | "waiting" | "ended" | "stopped";
  readonly command: string;
  readonly pid?: number;
  /** Unix milliseconds, of the state. */
  readonly since: number;
  readonly restarts: number;
  readonly lastEnd?: string;
  readonly inWork: number;
  readonly queued: number;
  readonly answered: number;
  readonly failed: number;
  /** The oldest first. */
  readonly stderr: readonly { readonly at: number; readonly text: string }[];
}
export interface PluginView {
  /** Its own name; as it is written in `config.json` when it could not be loaded. */
  readonly name: string;
  /** As it is written in `config.json`. */
  readonly from: string;
  readonly required: boolean;
  readonly state: "starting" | "started" | "failed" | "stopped";
  /** Why it failed. */
  readonly reason?: string;
}
export interface TokenView {
  readonly name: string;
  readonly source: "env" | "security" | "config" | "random" | "host" | "none";
  readonly managedByEnv: boolean;
}
export interface ChannelView {
  readonly enabled: boolean;
  /** Set by an environment variable, so that the page cannot switch it. */
  readonly enabledManagedBy?: string;
  /** `ws://host:port/pico`, as seen from the browser that asks. */
  readonly url: string;
  readonly connections: number;
  readonly maxConnections: number;
  readonly messagesIn: number;
  readonly messagesOut: number;
  /** Messages (both ways) of each of the last 10 minutes, oldest first, the last one still running. */
  readonly perMinute: readonly number[];
  /** Clients that were refused: the newest first, at most 10. */
  readonly refusals: readonly RejectionView[];
  /** For `If-Match` of `PUT /api/channels/pico`; absent where settings cannot be changed. */
  readonly etag?: string;
}
export interface SignInView {
  /** Unix milliseconds. */
  readonly at: number;
  readonly address: string;
  readonly via: string;
}
/** Of a sign-in or of a client; the same again is one row. */
export interface RejectionView {
  /** Unix milliseconds, of the latest. */
  readonly at: number;
  readonly times: number;
  readonly address: string;
  /** The door; of a client how its token came, "none" without one. */
  readonly via: string;
  readonly code: string;
  /** The page that is not allowed. */
  readonly origin?: string;
  /** Unix milliseconds until which the address is blocked. */
  readonly until?: number;
}
export interface WarningView {
  readonly id: string;
  readonly text: string;
  /** The command or setting that fixes it. */
  readonly fix: string;
}
