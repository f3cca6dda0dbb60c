// Dependencies of the session logs of one node.
import type { Clock, Log, Release } from "../../kernel/index.ts";
import type { KeySpace } from "./keys.ts";
import type { RedisLink } from "./link.ts";

/** Dependencies shared by the logs of all channels. */
export interface RedisLogContext {
  readonly link: RedisLink;
  readonly space: KeySpace;
  readonly clock: Clock;
  readonly log: Log;
  readonly after: (ms: number, run: () => void) => Release;
  readonly random: (bytes: number) => Uint8Array;
  /** This node, and the number of its next append. */
  readonly node: { readonly me: string; appends: number };
  readonly settings: { readonly keepMs: number; readonly replicas: number };
}
