// Lets other plugins exchange messages through the pico channel with protocols of their own.
import type {
  AdapterReceipt,
  AnswerEnd,
  ChannelAdapter,
  ChannelHandle,
  InboundMessage,
  OutboundMessage,
} from "../channels/index.ts";
import type { Awaitable, Release } from "../../kernel/index.ts";
import type { SessionLog, Subscriber } from "../conversations/index.ts";
import type { MemoryBudget } from "./connection/memory-budget.ts";
import type { DoorSubscriber, PicoDoor } from "./door-service.ts";
import type { SessionGuard } from "./session/session-guard.ts";

interface DoorOptions {
  readonly sessions: SessionLog;
  readonly channel: Pick<ChannelHandle, "deliver" | "stop">;
  readonly sessionGuard: Pick<SessionGuard, "isToken">;
  readonly budget: MemoryBudget;
}

type OutboundUpdate = OutboundMessage & { readonly final?: boolean };

/** Keeps a session connected. The subscribers receive the messages before they are encoded. */
const silentSubscriber = (): Subscriber => ({ onEntry: () => undefined });

/** The subscribers of one session, and the entries that the session log has not stored yet. */
interface WatchedSession {
  readonly subscribers: Set<DoorSubscriber>;
  /** Settles after the entries before; undefined if none is waiting. */
  unstored: Promise<unknown> | undefined;
}

/** Passes everything that the adapter sends to the subscribers, once it is stored. */
export class DoorHub {
  private readonly watched = new Map<string, WatchedSession>();

  /** Returns an adapter that does the same, and also informs the subscribers. */
  observe(adapter: ChannelAdapter): ChannelAdapter {
    const observed = Object.create(adapter) as ChannelAdapter;
    return Object.assign(observed, {
      send: (session: string, id: string, message: OutboundUpdate) => {
        const isFinal = !message.placeholder && (message.final ?? true);
        return this.pass(session, adapter.send(session, id, message), (subscriber) =>
          subscriber.written(id, message, isFinal),
        );
      },
      update: (session: string, id: string, message: OutboundUpdate) =>
        this.pass(session, adapter.update!(session, id, message), (subscriber) =>
          subscriber.written(id, message, message.final ?? false),
        ),
      remove: (session: string, id: string) =>
        this.pass(session, adapter.remove!(session, id), (subscriber) => subscriber.removed(id)),
      turn: (message: InboundMessage) => {
        const stored = adapter.turn?.(message);
        this.passTurn(message, stored);
        return stored;
      },
      failed: (session: string, id: string, error: unknown) => {
        adapter.failed?.(session, id, error);
        this.tell(session, (subscriber) => subscriber.failed(id, error));
      },
      ended: (session: string, id: string, end: AnswerEnd) => {
        adapter.ended?.(session, id, end);
        this.tell(session, (subscriber) => subscriber.ended(id, end));
      },
    });
  }

  /** Creates the access of the plugin with this name. */
  door(name: string, { sessions, channel, sessionGuard, budget }: DoorOptions): PicoDoor {
    return {
      deliver: (message, options) =>
        channel.deliver({ ...message, channel: "pico", door: name }, options),
      stop: (session, id, by) => channel.stop(session, id, by),
      isToken: (text) => sessionGuard.isToken(text, false),
      reserve: (bytes) => budget.reserve(bytes),
      release: (bytes) => budget.release(bytes),
      subscribe: (session, subscriber) => {
        const presence = silentSubscriber();
        const joined = (async () => sessions.subscribe(session, presence, { resumes: true }))();
        const release = this.add(session, subscriber);
        return () => {
          release();
          // A store that is away has subscribed nothing.
          joined.then(
            () => sessions.unsubscribe(session, presence),
            () => undefined,
          );
        };
      },
    };
  }

  private add(session: string, subscriber: DoorSubscriber): Release {
    const { watched } = this;
    const entry = watched.get(session) ?? { subscribers: new Set(), unstored: undefined };
    watched.set(session, entry);
    entry.subscribers.add(subscriber);
    return () => {
      entry.subscribers.delete(subscriber);
      if (entry.subscribers.size === 0 && watched.get(session) === entry) watched.delete(session);
    };
  }

  private pass(
    session: string,
    stored: Awaitable<AdapterReceipt>,
    run: (subscriber: DoorSubscriber) => void,
  ): Awaitable<AdapterReceipt> {
    const entry = this.watched.get(session);
    if (entry === undefined) return stored;
    if (!(stored instanceof Promise) && entry.unstored === undefined) {
      entry.subscribers.forEach(run);
      return stored;
    }
    this.queue(entry, Promise.resolve(stored), run);
    return stored;
  }

  private passTurn(message: InboundMessage, stored: Awaitable<void>): void {
    const entry = this.watched.get(message.session);
    if (entry === undefined) return;
    const run = (subscriber: DoorSubscriber): void => subscriber.turned?.(message);
    if (!(stored instanceof Promise) && entry.unstored === undefined)
      entry.subscribers.forEach(run);
    else this.queue(entry, Promise.resolve(stored), run);
  }

  private tell(session: string, run: (subscriber: DoorSubscriber) => void): void {
    const entry = this.watched.get(session);
    if (entry === undefined) return;
    if (entry.unstored === undefined) entry.subscribers.forEach(run);
    else this.queue(entry, Promise.resolve(), run);
  }

  /** Runs after everything before. Text that could not be stored reaches no subscriber. */
  private queue(
    entry: WatchedSession,
    stored: Promise<unknown>,
    run: (subscriber: DoorSubscriber) => void,
  ): void {
    const before = entry.unstored ?? Promise.resolve();
    const done: Promise<unknown> = Promise.allSettled([before, stored]).then(([, outcome]) => {
      if (outcome.status === "fulfilled") entry.subscribers.forEach(run);
      if (entry.unstored === done) entry.unstored = undefined;
    });
    entry.unstored = done;
  }
}
