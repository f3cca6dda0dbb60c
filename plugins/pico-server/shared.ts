import type { Clock, Log } from "../../kernel/index.ts";
import type { Inlet } from "../channels/index.ts";
import type { Budget } from "./budget.ts";
import type { PicoServerConfig } from "./config.ts";
import type { Link } from "./connections.ts";
import type { Counters } from "./counters.ts";
import type { PicoServerEvents } from "./events.ts";
import type { Rate } from "./rates.ts";
import type { Heard, SessionLog } from "./session-log.ts";
import type { Awake } from "./wheel.ts";

export type Hand = Inlet["hand"];
export type Disconnected = PicoServerEvents["pico-server:disconnected"];

/** What all connections have in common: one object, so that each keeps but one word of it. */
export interface Shared {
  readonly clock: Clock;
  readonly awake: Awake;
  readonly log: Log;
  readonly config: () => PicoServerConfig;
  readonly messageRate: () => Rate;
  readonly newId: () => string;
  readonly counters: Counters;
  readonly sessions: SessionLog;
  /** A numbered entry was given to a socket that acknowledges nothing. */
  readonly written: (entry: Heard) => void;
  /** Of what was read and the application has not accepted. */
  readonly budget: Budget;
  readonly hand: Hand;
  /** Somebody in this session writes, or stopped. */
  readonly typing: Inlet["typing"];
  /** The application has a message of this session. */
  readonly isBusy: (session: string) => boolean;
  /** It is looked at within a second. */
  readonly hasten: (link: Link) => void;
  /** The socket is gone. */
  readonly gone: (link: Link, fact: Disconnected) => void;
}
