// The sessions of one channel with subscribers at this node: joins and leaves their streams.
import type { Awaitable } from "../../kernel/index.ts";
import type {
  LogListeners,
  SubscribeOptions,
  Subscriber,
} from "../conversations/log/session-log.ts";
import type { AppendDrafts } from "./append-drafts.ts";
import { catchUp } from "./catch-up.ts";
import type { SessionPlace } from "./keys.ts";
import {
  LiveSession,
  type EntryHead,
  type LiveSessionOptions,
  type OwnEntry,
} from "./live-session.ts";
import type { RedisLogContext } from "./log-context.ts";
import { leaveStream, openStream, requestEnds } from "./subscription-calls.ts";

/** Sessions that are compared with the store at the same time. */
const resyncWidth = 64;

interface LiveSessionsOptions {
  readonly channel: string;
  readonly listeners: LogListeners;
  readonly drafts: AppendDrafts;
  /** @returns The entry of an append of this node that has not finished. */
  readonly own: (counter: number) => OwnEntry | undefined;
  /** The last subscriber of the session here leaves. */
  readonly leaving: (session: string) => void;
}

export class LiveSessions {
  /** Sessions whose clients here had to reconnect. */
  renewedCount = 0;
  private readonly context: RedisLogContext;
  private readonly options: LiveSessionsOptions;
  private readonly sessions = new Map<string, LiveSession>();
  private readonly catchUpOptions = {
    seen: (sk: string) => this.options.drafts.seen(sk),
    renewed: (live: LiveSession) => this.renewed(live),
  };

  constructor(context: RedisLogContext, options: LiveSessionsOptions) {
    this.context = context;
    this.options = options;
  }

  get size(): number {
    return this.sessions.size;
  }

  get(session: string): LiveSession | undefined {
    return this.sessions.get(session);
  }

  values(): Iterable<LiveSession> {
    return this.sessions.values();
  }

  placeOf(session: string): SessionPlace {
    return (
      this.sessions.get(session)?.place ?? this.context.space.place(this.options.channel, session)
    );
  }

  addressOf(session: string): string {
    return JSON.stringify({ channel: this.options.channel, session });
  }

  subscribe(
    session: string,
    subscriber: Subscriber,
    { ends = false }: SubscribeOptions = {},
  ): Awaitable<void> {
    const existing = this.sessions.get(session);
    const live = existing ?? this.createLive(session);
    live.subscribers.add(subscriber);
    const requestsEnds = ends && !live.wantsEnds;
    live.wantsEnds ||= ends;
    if (!existing) {
      this.sessions.set(session, live);
      const opening = this.open(live);
      opening.catch(() => this.drop(live));
      live.wait(opening);
    } else if (requestsEnds) live.wait(this.requestEnds(live, live.opening));
    return live.opening;
  }

  unsubscribe(session: string, subscriber: Subscriber): void {
    const live = this.sessions.get(session);
    if (!live?.subscribers.delete(subscriber) || live.subscribers.size > 0) return;
    this.options.leaving(session);
    this.drop(live);
    this.leave(live).catch(() => undefined);
  }

  /**
   * Compares all sessions with subscribers here with the store.
   *
   * @returns The sessions that belong to the node.
   */
  async resync(node: string | undefined): Promise<readonly string[]> {
    const all = [...this.sessions.values()].filter(({ epoch }) => epoch !== "");
    const found: string[] = [];
    for (let at = 0; at < all.length; at += resyncWidth)
      await Promise.all(
        all.slice(at, at + resyncWidth).map(async (live) => {
          live.isFetching = true;
          const owner = await catchUp(this.context, live, this.catchUpOptions);
          if (owner !== undefined && owner === node) found.push(live.session);
        }),
      );
    return found;
  }

  /** Closes the clients of a session: it has a new epoch. */
  private renewed(live: LiveSession): void {
    if (live.isClosed) return;
    this.renewedCount += 1;
    this.drop(live);
    void this.unsubscribed(live.place, live.session);
    this.options.listeners.renewed(live.session);
  }

  close(): void {
    for (const live of this.sessions.values()) live.close();
  }

  private replaced({ session }: LiveSession, node: unknown, digest: unknown): void {
    const { context, options } = this;
    if (node === context.node.me) return;
    const isSame = (secret: string): boolean => context.space.connectionDigest(secret) === digest;
    options.listeners.replaced?.(session, isSame);
  }

  private createLive(session: string): LiveSession {
    const options: LiveSessionOptions = {
      session,
      place: this.context.space.place(this.options.channel, session),
      me: this.context.node.me,
      own: (head: EntryHead) =>
        head.n === this.context.node.me ? this.options.own(head.c) : undefined,
      missing: (live) => {
        live.isFetching = true;
        void catchUp(this.context, live, this.catchUpOptions);
      },
      heard: (live) => this.options.drafts.noteTop(live.place.sk, live),
      renewed: (live) => this.renewed(live),
      interrupted: ({ session }) => this.options.listeners.interrupted?.(session),
      replaced: (live, node, digest) => this.replaced(live, node, digest),
    };
    return new LiveSession(options);
  }

  private async open(live: LiveSession): Promise<void> {
    const { sk } = live.place;
    const [seen, address] = [this.options.drafts.seen(sk), this.addressOf(live.session)];
    const { epoch, seq, listeners } = await openStream(this.context, live, { seen, address });
    if (live.isClosed) return;
    live.begin(epoch, seq);
    this.options.drafts.noteTop(sk, live);
    if (live.wantsEnds) this.options.drafts.noteEndsRequested(sk);
    if (listeners === 1) this.options.listeners.sessionActive(live.session);
  }

  /** Tells all nodes that a client here asks for the ends of answers. */
  private async requestEnds(
    { place }: LiveSession,
    opening: Promise<void> | undefined,
  ): Promise<void> {
    try {
      await opening;
      this.options.drafts.noteEndsRequested(place.sk);
      await requestEnds(this.context, place);
    } catch {
      // The subscription has failed, or the store is away: its clients connect again.
    }
  }

  private drop(live: LiveSession): void {
    live.close();
    if (this.sessions.get(live.session) === live) this.sessions.delete(live.session);
  }

  private async leave({ session, place }: LiveSession): Promise<void> {
    if (!(await this.unsubscribed(place, session))) return;
    const listeners = await leaveStream(this.context, place);
    if (listeners === 0 && !this.sessions.has(session)) this.options.listeners.sessionIdle(session);
  }

  /**
   * Ends the subscription, after the appends that count on it: calls keep their order.
   *
   * @returns False if a client has joined the session in the meantime.
   */
  private async unsubscribed({ keys }: SessionPlace, session: string): Promise<boolean> {
    const { link } = this.context;
    await link.run({ script: "top", keys, values: [] }).catch(() => undefined);
    if (this.sessions.has(session)) return false;
    await link.unsubscribe(keys.at(-1)!);
    return true;
  }
}
