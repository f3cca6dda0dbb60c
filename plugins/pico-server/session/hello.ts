import type { GapFrame, HelloFrame } from "../../../lib/pico-wire/index.ts";
import { pingEveryMs, type PicoServerConfig } from "../config.ts";
import { retentionMs, replayWindow } from "./memory-session-log.ts";
import type { Cursor, Replay } from "./session-log.ts";

const extensionVersion = 1;
/** Bounds of a client's backoff, milliseconds. */
export const retryBounds = { min: 500, max: 30_000 } as const;

export interface HelloOptions {
  readonly conn: string;
  readonly session: string;
  /** It named a place in a stream. */
  readonly resumes: boolean;
  readonly tail: Replay & { readonly top: Cursor };
  readonly config: PicoServerConfig;
}

/** The first frames to a client of the extension: where it stands, and what it will not get. */
export function helloFrames({
  conn,
  session,
  resumes,
  tail,
  config,
}: HelloOptions): (HelloFrame | GapFrame)[] {
  const { top, gap, frames } = tail;
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
      replay: frames.length,
      gap: gap !== undefined,
      ping_interval: Math.max(1, Math.floor(pingEveryMs(config) / 1_000)),
      read_timeout: config.read_timeout,
      max_payload: config.max_payload,
      window: { ...replayWindow, ttl_s: retentionMs / 1_000 },
      retry: retryBounds,
    },
  };
  return gap ? [hello, { type: "gap", session_id: session, payload: gap }] : [hello];
}
