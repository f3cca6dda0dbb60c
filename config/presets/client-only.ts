import { createKernel, type Log } from "../../kernel/index.ts";
import { channels } from "../../plugins/channels/index.ts";
import { files, tokenStore } from "../../plugins/token-store/index.ts";
import type { Environment } from "../load/index.ts";

export interface ClientOnlyOptions {
  readonly home: string;
  readonly env: Environment;
  readonly log: Log;
}

/** What a deployment without dashboard and server stands on: tokens and channels, and no listener. */
export function clientOnly({ home, env, log }: ClientOnlyOptions) {
  return createKernel([tokenStore(files({ home, env })), channels()], { log });
}
