// Lets other plugins exchange messages through the pico channel with protocols of their own.
import type {
  AnswerEnd,
  ChannelAdapter,
  ChannelHandle,
  InboundMessage,
  GrowingMessage,
} from "../channels/index.ts";
import type { Release } from "../../kernel/index.ts";
import type { Cursor, SequencedEntry, SessionLog, Subscriber } from "../conversations/index.ts";
import type { PicoServerConfig } from "./config.ts";
import { frameTypeOf, memoizeLast } from "./frame-encoding.ts";
import { toProtocolCall, type ProtocolCall } from "./protocol-frames.ts";
import type { ProtocolSubscriber, PicoProtocol } from "./protocol-service.ts";
import { mayAnswer } from "./session/answers.ts";
import type { PicoChannelAdapter } from "./session/channel-adapter.ts";
import type { SessionGuard } from "./session/session-guard.ts";

interface PresenceOptions {
  readonly sessions: SessionLog;
  readonly session: string;
  /** Runs a call after everything before it. */
  readonly tell: (call: ProtocolCall) => void;
}

const callOnce = memoizeLast(({ session, frame }) => toProtocolCall(session, frame));

/**
 * Keeps the session of a protocol request connected, and follows what other nodes append to it. The
 * subscriber receives the messages of this node before they are encoded, so not from here.
 */
class ProtocolPresence implements Subscriber {
  private readonly options: PresenceOptions;
  /** The position of the latest entry that was heard. */
  private cursor: Cursor | undefined;
  /** Calls that wait until what was missed before them is read. */
  private held: ProtocolCall[] | undefined;

  constructor(options: PresenceOptions) {
    this.options = options;
  }

  /** Resolves when everything that any node appends is heard. */
  async join(): Promise<void> {
    const { sessions, session } = this.options;
    const ends = sessions.isShared === true;
    await sessions.subscribe(session, this, { resumes: true, ends });
  }

  /** Joins again, because the session has a new epoch, and reads what was missed. */
  async rejoin(): Promise<void> {
    const { sessions, session, tell } = this.options;
    const { cursor } = this;
    this.held ??= [];
    try {
      await this.join();
      const { frames, partials, ends = [] } = await sessions.readAfter(session, cursor);
      const calls = [...frames, ...partials, ...ends].map((frame) =>
        toProtocolCall(session, frame),
      );
      for (const call of calls) if (call) tell(call);
    } finally {
      const { held } = this;
      this.held = undefined;
      for (const call of held ?? []) tell(call);
    }
  }

  leave(): void {
    const { sessions, session } = this.options;
    sessions.unsubscribe(session, this);
  }

  onEntry(entry: SequencedEntry): void {
    this.cursor = entry.cursor;
    if (!entry.isForeign || frameTypeOf(entry).startsWith("typing.")) return;
    const call = callOnce(entry);
    if (call && this.held) this.held.push(call);
    else if (call) this.options.tell(call);
  }
}

interface ProtocolOptions {
  readonly sessions: SessionLog;
  readonly channel: Pick<
    ChannelHandle,
    "deliver" | "stop" | "answer" | "drained" | "questions" | "running"
  >;
  readonly config: () => Pick<PicoServerConfig, "answers">;
  readonly sessionGuard: Pick<SessionGuard, "isToken">;
  readonly body: PicoProtocol["body"];
}

/** The subscribers of one session, and the entries that the session log has not stored yet. */
interface WatchedSession {
  readonly subscribers: Map<ProtocolSubscriber, ProtocolPresence>;
  /** Resolves when the subscribers hear the other nodes; undefined if they do. */
  joining: Promise<unknown> | undefined;
  /** Settles after the entries before; undefined if none is waiting. */
  unstored: Promise<unknown> | undefined;
}

function callAll({ subscribers }: WatchedSession, run: ProtocolCall): void {
  for (const subscriber of [...subscribers.keys()]) run(subscriber);
}

/** Runs after everything before, unless it depends on text that could not be stored. */
function runAfter(
  entry: WatchedSession,
  stored: Promise<unknown> | undefined,
  run: () => void,
): void {
  const before = entry.unstored;
  if (before === undefined && stored === undefined) return run();
  const done: Promise<unknown> = Promise.allSettled([before, stored]).then(([, outcome]) => {
    if (outcome.status === "fulfilled") run();
    if (entry.unstored === done) entry.unstored = undefined;
  });
  entry.unstored = done;
}

/**
 * Passes everything that the adapter sends to the subscribers, once it is stored, and what other
 * nodes append to the same sessions.
 */
export class ProtocolHub {
  private readonly watched = new Map<string, WatchedSession>();

  /** Returns an adapter that does the same, and also informs the subscribers. */
  observe(adapter: PicoChannelAdapter): ChannelAdapter {
    const observed = Object.create(adapter) as ChannelAdapter;
    return Object.assign(observed, {
      send: (session: string, id: string, message: GrowingMessage) => {
        const isFinal = !message.placeholder && (message.final ?? true);
        return this.pass(session, adapter.send(session, id, message), (subscriber) =>
          subscriber.written(id, message, isFinal),
        );
      },
      update: (session: string, id: string, message: GrowingMessage) =>
        this.pass(session, adapter.update(session, id, message), (subscriber) =>
          subscriber.written(id, message, message.final ?? false),
        ),
      remove: (session: string, id: string) =>
        this.pass(session, adapter.remove(session, id), (subscriber) => subscriber.removed(id)),
      turn: (message: InboundMessage) =>
        this.pass(message.session, adapter.turn(message), (subscriber) =>
          subscriber.turned?.(message),
        ),
      failed: (session: string, id: string, error: unknown) => {
        adapter.failed(session, id, error);
        this.tell(session, (subscriber) => subscriber.failed(id, error));
      },
      ended: (session: string, id: string, end: AnswerEnd) => {
        const told = adapter.ended(session, id, end);
        this.tell(session, (subscriber) => subscriber.ended(id, end));
        return told;
      },
    });
  }

  /** Creates the access of the plugin with this name. */
  protocol(name: string, options: ProtocolOptions): PicoProtocol {
    const { sessions, channel, sessionGuard, body, config } = options;
    return {
      deliver: async (message, options) => {
        // The answer of another node may follow immediately.
        if (sessions.isShared) await this.watched.get(message.session)?.joining;
        return channel.deliver({ ...message, channel: "pico", protocol: name }, options);
      },
      stop: (session, id, by) => channel.stop(session, id, by),
      answer: async (session, id, answer, by) =>
        mayAnswer(by, config())
          ? channel.answer(session, id, answer, by.sender, name)
          : { status: "unknown" },
      questions: (session) => channel.questions(session),
      running: (session) => channel.running(session),
      drained: channel.drained,
      isToken: (text) => sessionGuard.isToken(text, false),
      body,
      subscribe: (session, subscriber) => this.subscribe(sessions, session, subscriber),
    };
  }

  /** The stream of this session ended, with the subscriptions to it. */
  renewed(session: string): void {
    const entry = this.watched.get(session);
    // A store that is away again renews the session once more.
    for (const presence of entry?.subscribers.values() ?? [])
      presence.rejoin().catch(() => undefined);
  }

  private subscribe(
    sessions: SessionLog,
    session: string,
    subscriber: ProtocolSubscriber,
  ): Release {
    const { watched } = this;
    const entry: WatchedSession = watched.get(session) ?? {
      subscribers: new Map(),
      joining: undefined,
      unstored: undefined,
    };
    watched.set(session, entry);
    const tell = (call: ProtocolCall): void => runAfter(entry, undefined, () => call(subscriber));
    const presence = new ProtocolPresence({ sessions, session, tell });
    entry.subscribers.set(subscriber, presence);
    const joined = presence.join();
    const joining = Promise.all([entry.joining, joined]);
    entry.joining = joining;
    const settled = (): void => {
      if (entry.joining === joining) entry.joining = undefined;
    };
    joining.then(settled, settled);
    return () => {
      entry.subscribers.delete(subscriber);
      if (entry.subscribers.size === 0 && watched.get(session) === entry) watched.delete(session);
      // A store that is away has subscribed nothing.
      joined.then(
        () => presence.leave(),
        () => undefined,
      );
    };
  }

  private pass<T extends Promise<unknown> | undefined>(
    session: string,
    stored: T,
    call: ProtocolCall,
  ): T {
    const entry = this.watched.get(session);
    if (entry) runAfter(entry, stored, () => callAll(entry, call));
    return stored;
  }

  private tell(session: string, call: ProtocolCall): void {
    const entry = this.watched.get(session);
    if (entry) runAfter(entry, undefined, () => callAll(entry, call));
  }
}
