/* What the API answers, in the shapes that pages read. Times are Unix milliseconds. No token in any of them, but in the
 * two that exist to show one. */
import type { ChannelView } from "../status.ts";

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
