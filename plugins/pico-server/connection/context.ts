import type { Clock, Log } from "../../../kernel/index.ts";
import type { ChannelHandle } from "../../channels/index.ts";
import type { MemoryBudget } from "./memory-budget.ts";
import type { PicoServerConfig } from "../config.ts";
import type { Peer } from "./registry.ts";
import type { Counters } from "../metrics.ts";
import type { PicoServerEvents } from "../service.ts";
import type { Rate } from "./rate-limit.ts";
import type { SequencedEntry, SessionLog } from "../session/session-log.ts";
import type { WheelClock } from "./timer-wheel.ts";

export type DeliverMessage = ChannelHandle["hand"];
export type DisconnectedEvent = PicoServerEvents["pico-server:disconnected"];

/** What all connections have in common: one object, so that each keeps but one word of it. */
export interface ConnectionContext {
  readonly clock: Clock;
  readonly awake: WheelClock;
  readonly log: Log;
  readonly config: () => PicoServerConfig;
  readonly messageRate: () => Rate;
  readonly newId: () => string;
  readonly counters: Counters;
  readonly sessions: SessionLog;
  /** A numbered entry was given to a socket that acknowledges nothing. */
  readonly written: (entry: SequencedEntry) => void;
  /** Of what was read and the application has not accepted. */
  readonly budget: MemoryBudget;
  readonly hand: DeliverMessage;
  /** Somebody in this session writes, or stopped. */
  readonly typing: ChannelHandle["typing"];
  /** The application has a message of this session. */
  readonly isBusy: (session: string) => boolean;
  /** It is looked at within a second. */
  readonly reschedule: (peer: Peer) => void;
  /** The socket is gone. */
  readonly gone: (peer: Peer, event: DisconnectedEvent) => void;
}
