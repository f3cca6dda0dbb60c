// The messages between the primary process and its workers.

/** The owner cleared the wrong tokens of one address, or of all if there is no address. */
export interface Unblock {
  readonly type: "unblock";
  readonly address?: string;
}

export type FromWorker = { readonly type: "serving" } | Unblock;

export type FromPrimary =
  /** All workers serve clients for the first time. */
  | { readonly type: "complete" }
  | { readonly type: "stop"; readonly reason: string }
  /** Passed on from another worker. */
  | Unblock
  /** Another worker has ended and starts again. */
  | {
      readonly type: "lost";
      readonly number: number;
      readonly code: number | null;
      readonly signal: string | null;
      readonly restartMs: number;
    };
