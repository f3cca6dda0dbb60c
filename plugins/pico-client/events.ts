import type { LinkState } from "../../lib/pico-link/index.ts";

export type PicoClientEvents = {
  /** The link moved. `attempt`: failures in a row; `reason`: a code. */
  "pico-client:link-changed": { from: LinkState; to: LinkState; attempt: number; reason: string };
};
