/** The response of the probe to the check of the way in. @module */

/** A request as it arrived at the launcher. */
export interface ProbeFacts {
  /** After trusted forwarded headers were applied. */
  readonly peer: { readonly address: string; readonly secure: boolean; readonly host: string };
  /** The peer of the connection: the proxy, or the client without one. */
  readonly direct: { readonly address: string; readonly port: number };
  /** Whether `allowed_hosts` permits the host of the request. */
  readonly isHostAllowed: boolean;
  /** Names in lower case; values are cut at 300 characters. */
  readonly headers: Readonly<Record<string, string>>;
}
