/** API responses. Times are Unix milliseconds. Only rotate and reveal return tokens. @module */
import type { ApplicationStatus, AttachedChannel } from "../../channels/index.ts";
import type { StoreHealth } from "../../conversations/index.ts";
import type { PicoConnection } from "../../pico-server/index.ts";
import type { ProgramStatus } from "../../program/index.ts";
import type { BackupView } from "../../backup/index.ts";
import type { TokenDescription } from "../../token-store/index.ts";
import type { ProtocolToken } from "./protocols.ts";

/** Where the owner can find the launcher token. A kind of place, never a path. */
export type TokenWay = "env" | "file" | "console" | "log" | "command" | "tray";

/** A token without its value. */
export type TokenRow = Omit<TokenDescription, "version">;
export interface TokensView {
  readonly tokens: readonly TokenRow[];
}

/** The new value, shown once. */
export interface RotatedView {
  readonly which: "launcher" | "pico" | ProtocolToken;
  readonly token: string;
  readonly source: string;
}

export interface SessionView {
  /** 8 hex digits, as `signIn` in events. */
  readonly id: string;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  readonly expiresAt: number;
  readonly address: string;
  readonly userAgent: string;
  /** True for the sign-in of the request. */
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
  /** Fields that can be changed over HTTP now. */
  readonly editable: readonly string[];
  /** Field to the environment variable that sets it. */
  readonly managedByEnv: Readonly<Record<string, string>>;
  /** Field to the command-line flag that sets it, for example `-port`. Flags override variables. */
  readonly managedByFlag: Readonly<Record<string, string>>;
  /** The reason if the content of the file is not in use. */
  readonly problem?: string;
}
export interface SettingsView {
  readonly sections: readonly SettingsSectionView[];
}
export interface SettingsChangedView {
  readonly etag: string;
  /** Fields that are in effect, and fields that take effect after a restart. */
  readonly now: readonly string[];
  readonly afterRestart: readonly string[];
}

export interface ChannelsView {
  readonly channels: readonly ({ readonly name: string } & ChannelView)[];
  /** Channels of other authors; absent if there are none. */
  readonly others?: readonly AttachedChannel[];
}

export interface ConnectionView extends PicoConnection {
  /** Title of its conversation; undefined before its first message. */
  readonly title?: string;
}
/** One page of connections. `total` counts all that match the filter. */
export interface ConnectionsView {
  readonly total: number;
  readonly connections: readonly ConnectionView[];
}

export type TestMethod = "header" | "subprotocol" | "query" | "requests";
/** Result of one test handshake. */
export interface TestResult {
  /** How the test sent the token. `requests`: in a plain HTTP request. */
  readonly method: TestMethod;
  /** True if the server accepted it: `code` is `101`, or `200` for `requests`. */
  readonly ok: boolean;
  /** `101` or `200`, or an error code of the channel or the network. */
  readonly code: string;
  /** Milliseconds from the request to the response. A test waits at most 5,000. */
  readonly ms: number;
}
export interface TestView {
  readonly results: readonly TestResult[];
}

/** Result of one doctor check. */
export interface CheckView {
  /** Stable name of the check in lower case, for example `token-strength`. */
  readonly id: string;
  /** Plain text for users: the condition that the check confirms. */
  readonly title: string;
  /** `warning`: works, but is unsafe or unusual. `failed`: does not work. */
  readonly result: "ok" | "warning" | "failed";
  /** One or two sentences for users about what was found. Contains no secret. */
  readonly reason: string;
  /** The command or setting that fixes the problem. */
  readonly fix?: string;
  /** A button of the doctor page that fixes the problem. */
  readonly action?: "restart-program" | "turn-on-channel";
}
/** A rejected client with texts for the page. */
export interface RejectedConnectionView {
  /** Unix milliseconds of the latest rejection. */
  readonly at: number;
  readonly title: string;
  /** Token method, address and count. */
  readonly detail: string;
  /** How to fix the problem. */
  readonly fix?: string;
  /** Unix milliseconds until which the address is blocked. */
  readonly blockedUntil?: number;
}
/** Why the WebSocket of a page did not open. Empty if the next one may open. */
export interface HandshakeView {
  readonly code?: string;
  /** The problem, with the setting that helps. */
  readonly why?: string;
}
export interface DoctorView {
  readonly checks: readonly CheckView[];
}

/** State of the check of the public URL. */
export interface PublicCheckView {
  /** Undefined without `gateway.public_url`. */
  readonly url?: string;
  readonly isRunning: boolean;
  /** The present step of a running check. */
  readonly step?: string;
  /** Results of the last check. */
  readonly checks?: readonly CheckView[];
  /** Unix milliseconds of its end. */
  readonly at?: number;
  /** Why the last check has no results. */
  readonly problem?: string;
}

/** Log levels, lowest first. */
export const logLevels = ["debug", "info", "warn", "error"] as const;
/** Severity of a log line; a filter with a level also matches the higher ones. */
export type LogLevel = (typeof logLevels)[number];
/** One log line without secrets. */
export interface LogLineView {
  /** Unix milliseconds. */
  readonly at: number;
  /** Severity at which the line was written. */
  readonly level: LogLevel;
  /** The message of the line, without its fields. */
  readonly text: string;
  /** Structured values of the line, in JSON. */
  readonly fields: Readonly<Record<string, unknown>>;
}
/** Log lines that match a request. */
export interface LogView {
  /** Oldest first. */
  readonly lines: readonly LogLineView[];
  /** True if older lines were not searched. */
  readonly truncated: boolean;
}

/** Content of the overview and response of `GET /api/status`. No field contains a token. */
export interface StatusView {
  /** State of the launcher. `setup`: the owner has not yet chosen the launcher token. */
  readonly state: "unconfigured" | "setup" | "running" | "rotating";
  /** Version from the dashboard options; empty if the host gives none. */
  readonly version: string;
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** Unix milliseconds at the server, whatever the clock of the browser says. */
  readonly now: number;
  /** URLs at which the dashboard listens. */
  readonly addresses: readonly string[];
  /** Claimed tokens without their values. */
  readonly tokens: readonly TokenView[];
  /** Undefined if no pico channel is loaded. */
  readonly channel?: ChannelView;
  /** Newest first, at most 10. */
  readonly signIns: readonly SignInView[];
  /** Newest first, at most 10. */
  readonly refusals: readonly RejectionView[];
  /** Problems that the owner should fix, each with the fix. */
  readonly warnings: readonly WarningView[];
  /** Open questions of the application. */
  readonly questions?: number;
  /** Channels of other authors; absent if there are none. */
  readonly otherChannels?: readonly AttachedChannel[];
  /** The application, if it is a program. */
  readonly program?: ProgramView;
  /** The status that the application gives, if any. */
  readonly application?: ApplicationStatus;
  /** True if the echo answers, because no program is set. */
  readonly echo?: boolean;
  /** Absent in other hosts. */
  readonly firstSteps?: FirstStepsView;
  /** The store of conversations, if the plugin `conversations` is loaded. */
  readonly store?: StoreHealth;
  /** Backups of the home; absent in other hosts. */
  readonly backup?: BackupView;
  /** Third-party plugins in their order; undefined if there are none. */
  readonly plugins?: readonly PluginView[];
}
/** Steps of a first visit that are done. */
export interface FirstStepsView {
  /** The command that starts this launcher with a program, which follows it. */
  readonly run: string;
  /** The application has answered a message, or there is a conversation. */
  readonly greeted: boolean;
  /** A client other than the dashboard has connected, or a second browser is signed in. */
  readonly device: boolean;
}
/** Status of the child process. */
export type ProgramView = ProgramStatus;
/** A third-party plugin and its state. */
export interface PluginView {
  /** Name of the plugin; the entry of `config.json` if it could not be loaded. */
  readonly name: string;
  /** The entry of `config.json`. */
  readonly from: string;
  /** True if the launcher does not start without the plugin. */
  readonly required: boolean;
  /** `failed`: it could not be loaded or started, for `reason`. */
  readonly state: "starting" | "started" | "failed" | "stopped";
  /** The reason of a failure. */
  readonly reason?: string;
}
export type TokenView = Pick<TokenRow, "name" | "source" | "managedByEnv">;
export interface ChannelView {
  readonly enabled: boolean;
  /** The environment variable that sets `enabled`; the page then cannot change it. */
  readonly enabledManagedBy?: string | undefined;
  /** `ws://host:port/pico`, as seen from the requesting browser. */
  readonly url: string;
  readonly connections: number;
  readonly maxConnections: number;
  readonly messagesIn: number;
  readonly messagesOut: number;
  /** Messages in both directions per minute: the last 10 minutes, the current one last. */
  readonly perMinute: readonly number[];
  /** Rejected clients, newest first, at most 10. */
  readonly refusals: readonly RejectionView[];
  /** For `If-Match` of `PUT /api/channels/pico`; undefined if settings cannot be changed. */
  readonly etag?: string | undefined;
}
export interface SignInView {
  /** Unix milliseconds. */
  readonly at: number;
  readonly address: string;
  readonly via: string;
}
/** A failed sign-in or a rejected client. Repetitions are counted in one row. */
export interface RejectionView {
  /** Unix milliseconds of the latest rejection. */
  readonly at: number;
  readonly times: number;
  readonly address: string;
  /** Sign-in method, or token method of a client; "none" if it sent no token. */
  readonly via: string;
  readonly code: string;
  /** Origin of the page that was not allowed. */
  readonly origin?: string;
  /** Why the sign-in of a browser does not count, with the setting that helps. */
  readonly why?: string;
  /** Unix milliseconds until which the address is blocked. */
  readonly until?: number;
}
export interface WarningView {
  readonly id: string;
  readonly text: string;
  /** The command or setting that fixes it. */
  readonly fix: string;
}
