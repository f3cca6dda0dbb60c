/** Types of the check of the way in. @module */
import type { PublicCheckView } from "../../shared/views.ts";

/** A permission to use the probe. Only the owner receives one. */
export interface ProbeGrant {
  /** 11 characters. */
  readonly id: string;
  /** 32 bytes, base64url. */
  readonly key: string;
  /** Paths of the probe without the base path: of the dashboard, and of the channel. */
  readonly paths: { readonly dashboard: string; readonly channel: string };
  /** Path before all paths of the launcher; empty without one. */
  readonly basePath: string;
  /** `gateway.public_url`, followed by the base path if it has no path. */
  readonly publicUrl?: string;
  /** `media.max_file_mb`. */
  readonly maxFileMb?: number;
  /** Headers of `launcher.proxy_sign_in`, and paths at which no client may set them. */
  readonly proxySignIn?: {
    readonly header: string;
    readonly secretHeader: string;
    readonly paths: readonly string[];
  };
}

/** Checks of the public URL. */
export interface PublicChecks {
  /** Creates a grant for one check. A check with an earlier grant fails. */
  issue(): Promise<ProbeGrant>;
  /** Ends a grant whose check is done. A later one stays. */
  revoke(id: string): void;
  view(): PublicCheckView;
  /** Starts a check. One that runs already continues. */
  start(isQuick: boolean): void;
  stop(): void;
}
