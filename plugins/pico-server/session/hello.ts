/**
 * Builds the first frames for a client of the extension: `hello` and, if frames are missing, `gap`.
 */
import type { GapFrame, HelloFrame } from "../../../lib/pico-wire/index.ts";
import { pingEveryMs, type PicoServerConfig } from "../config.ts";
import type { Features } from "./features.ts";
import type { StreamStart } from "./subscriptions.ts";
import type { LogLimits } from "../../conversations/index.ts";

const extensionVersion = 1;
/** Bounds of the reconnect delay of clients, in milliseconds. */
export const retryBounds = { min: 500, max: 30_000 } as const;

interface HelloOptions {
  readonly conn: string;
  readonly session: string;
  /** The client sent a cursor to resume at. */
  readonly resumes: boolean;
  readonly replay: StreamStart;
  readonly config: PicoServerConfig;
  readonly limits: LogLimits;
  readonly features: Features;
}

export function helloFrames({
  conn,
  session,
  resumes,
  replay,
  config,
  limits,
  features,
}: HelloOptions): (HelloFrame | GapFrame)[] {
  const { top, gap, frames: replayed, running, questions } = replay;
  const { frames, bytes, retentionMs } = limits;
  const hello: HelloFrame = {
    type: "hello",
    session_id: session,
    payload: {
      version: extensionVersion,
      conn_id: conn,
      session_id: session,
      epoch: top.epoch,
      seq: top.seq,
      resumed: resumes && !gap,
      replay: replayed.length,
      gap: gap !== undefined,
      ping_interval: Math.max(1, Math.floor(pingEveryMs(config) / 1_000)),
      read_timeout: config.read_timeout,
      max_payload: config.max_payload,
      window: { frames, bytes, ttl_s: retentionMs / 1_000 },
      retry: retryBounds,
      ...(features.names && { can: features.names }),
      ...(running && { running: running.map(({ id, at }) => ({ request_id: id, at })) }),
      ...(questions && { questions: questions.map(({ id }) => id) }),
    },
  };
  return gap ? [hello, { type: "gap", session_id: session, payload: gap }] : [hello];
}
