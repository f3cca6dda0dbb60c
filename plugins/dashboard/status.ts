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
  readonly refusals: readonly RefusalView[];
  readonly warnings: readonly WarningView[];
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
  /** For `If-Match` of `PUT /api/channels/pico`; absent where settings cannot be changed. */
  readonly etag?: string;
}
export interface SignInView {
  /** Unix milliseconds. */
  readonly at: number;
  readonly address: string;
  readonly via: string;
}
export interface RefusalView {
  readonly at: number;
  readonly address: string;
  readonly via: string;
  readonly code: string;
}
export interface WarningView {
  readonly id: string;
  readonly text: string;
  /** The command or setting that fixes it. */
  readonly fix: string;
}
