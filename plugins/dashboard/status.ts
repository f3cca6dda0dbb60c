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
