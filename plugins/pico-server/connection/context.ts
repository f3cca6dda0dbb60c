// Dependencies shared by all connections. Types only, so that no import cycle arises.
import type { Clock, Log } from "../../../kernel/index.ts";
import type { ChannelHandle } from "../../channels/index.ts";
import type { FrameTurns } from "./frame-turns.ts";
import type { MemoryBudget } from "./memory-budget.ts";
import type { PicoServerConfig } from "../config.ts";
import type { Peer } from "./registry.ts";
import type { Counters } from "../metrics.ts";
import type { PicoServerEvents } from "../service.ts";
import type { RecentEnds } from "../session/channel-adapter.ts";
import type { SequencedEntry, SessionLog } from "../../conversations/index.ts";
import type { CheckClock } from "./liveness.ts";
import type { MessageFiles } from "../session/message-files.ts";

type DisconnectedEvent = PicoServerEvents["pico-server:disconnected"];

/** The parts of the plugin scope that connections use. */
export interface RuntimeContext {
  readonly clock: Clock;
  readonly log: Log;
  readonly config: () => PicoServerConfig;
  readonly newId: () => string;
}

/** The way of messages to the application, and its limits. */
interface DeliveryContext {
  readonly deliver: ChannelHandle["hand"];
  /** Reports that a user of this session started or stopped typing. */
  readonly typing: ChannelHandle["typing"];
  readonly stop: ChannelHandle["stop"];
  readonly answer: ChannelHandle["answer"];
  /** True while the application processes a message of this session. */
  readonly isBusy: (session: string) => boolean;
  readonly running: ChannelHandle["running"];
  readonly questions: ChannelHandle["questions"];
  /** True if this session id is a token of this process. */
  readonly isToken: (session: string, knowsToken?: boolean) => Promise<boolean>;
  /** Limits the bytes that were read and the application has not accepted. */
  readonly budget: MemoryBudget;
  /** Limits the frames that are handed over in one turn of the event loop. */
  readonly turns: FrameTurns;
}

/** The registry, as its members use it. */
interface RegistryContext {
  readonly checkClock: CheckClock;
  /** Checks the peer within a second. */
  readonly reschedule: (peer: Peer) => void;
  /** Called after the socket closed. */
  readonly closed: (peer: Peer, event: DisconnectedEvent) => void;
}

/** One object, so that each connection stores a single pointer. */
export interface ConnectionContext {
  readonly runtime: RuntimeContext;
  readonly delivery: DeliveryContext;
  readonly registry: RegistryContext;
  readonly sessions: SessionLog;
  readonly files: MessageFiles;
  readonly counters: Counters;
  readonly ends: RecentEnds;
  /**
   * Called after a numbered entry was written to a socket whose client sends no acknowledgements.
   */
  readonly written: (entry: SequencedEntry) => void;
}
