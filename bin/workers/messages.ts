// The messages between the primary process and its workers.

export type FromWorker = { readonly type: "serving" };

export type FromPrimary =
  /** All workers serve clients for the first time. */
  | { readonly type: "complete" }
  | { readonly type: "stop"; readonly reason: string }
  /** Another worker has ended and starts again. */
  | {
      readonly type: "lost";
      readonly number: number;
      readonly code: number | null;
      readonly signal: string | null;
      readonly restartMs: number;
    };
