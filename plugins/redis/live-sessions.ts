// The sessions of one channel with subscribers at this node: joins and leaves their streams.
import type { Awaitable, Release } from "../../kernel/index.ts";
import type {
  LogListeners,
  SubscribeOptions,
  Subscriber,
} from "../conversations/log/session-log.ts";
import type { AppendDrafts } from "./append-drafts.ts";
import type { Reply } from "./driver.ts";
import type { SessionPlace } from "./keys.ts";
import {
  LiveSession,
  type EntryHead,
  type LiveSessionOptions,
  type OwnEntry,
} from "./live-session.ts";
import type { RedisLogContext } from "./log-context.ts";
import { toHeard } from "./replies.ts";

/** Sessions that are compared with the store at the same time. */
const resyncWidth = 64;
/** Milliseconds between two renewals of what expires. */
const maxTouchMs = 3_600_000;

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
  private stopTouching: Release;

  constructor(context: RedisLogContext, options: LiveSessionsOptions) {
    this.context = context;
    this.options = options;
    this.stopTouching = this.touchLater();
  }

  get size(): number {
    return this.sessions.size;
  }

  get(session: string): LiveSession | undefined {
    return this.sessions.get(session);
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
          const owner = await this.catchUp(live);
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
    this.stopTouching();
    for (const live of this.sessions.values()) live.close();
  }

  private replaced({ session }: LiveSession, node: unknown, digest: unknown): void {
    const { context, options } = this;
    if (node === context.node.me) return;
    const isSame = (secret: string): boolean =>
      context.space.digest("connection", secret) === digest;
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
        void this.catchUp(live);
      },
      heard: (live) => this.options.drafts.noteTop(live.place.sk, live),
      renewed: (live) => this.renewed(live),
      interrupted: ({ session }) => this.options.listeners.interrupted?.(session),
      replaced: (live, node, digest) => this.replaced(live, node, digest),
    };
    return new LiveSession(options);
  }

  /** Keeps the streams of sessions with subscribers from expiring. */
  private touchLater(): Release {
    const { link, after, settings } = this.context;
    const { keepMs } = settings;
    return after(Math.min(maxTouchMs, keepMs / 3), () => {
      for (const { place } of this.sessions.values())
        link.run({ script: "touch", keys: place.keys, values: [keepMs] }).catch(() => undefined);
      this.stopTouching = this.touchLater();
    });
  }

  /** Listens to a session, and creates its stream. */
  private async open(live: LiveSession): Promise<void> {
    const { link, space, node, settings } = this.context;
    const { sk, keys } = live.place;
    const seen = this.options.drafts.seen(sk);
    live.listening = link.subscribe(keys.at(-1)!, (message) => live.received(message));
    await live.listening;
    const about = [node.me, settings.keepMs, this.addressOf(live.session), sk, space.nodes];
    const values = [...seen, ...about, live.wantsEnds ? 1 : 0];
    const call = { script: "open", keys, values, repeats: true } as const;
    const [epoch, seq, listeners] = (await link.run(call)) as readonly Reply[];
    if (live.isClosed) return;
    live.begin(String(epoch), Number(seq));
    this.options.drafts.noteTop(sk, live);
    if (live.wantsEnds) this.options.drafts.noteEndsRequested(sk);
    if (Number(listeners) === 1) this.options.listeners.sessionActive(live.session);
  }

  /**
   * Passes on the entries that this node has missed. The caller has set `isFetching`.
   *
   * @returns The node that has the session; undefined if that is not known.
   */
  private async catchUp(live: LiveSession): Promise<string | undefined> {
    const { link, log, node } = this.context;
    const { keys, sk } = live.place;
    // Two calls can overlap: the other one may pass entries on before this one has its reply.
    const from = live.seq;
    try {
      const call = { script: "catchUp", keys, values: [from], repeats: true } as const;
      const reply = (await link.run(call)) as readonly Reply[];
      if (live.isClosed) return undefined;
      const [epoch, top, , owner] = reply;
      const entries = toHeard(live.session, reply, node.me);
      const isSame = epoch !== null && epoch !== undefined && String(epoch) === live.epoch;
      const first = entries[0]?.cursor.seq ?? from + 1;
      if (!isSame || first !== from + 1) this.renewed(live);
      else if (Number(top) >= from) live.fetched(entries);
      else {
        // The store has lost entries that the subscribers here have received.
        const values = this.options.drafts.seen(sk);
        await link.run({ script: "renew", keys, values, repeats: true });
        this.renewed(live);
      }
      return String(owner ?? "");
    } catch (error) {
      if (live.isClosed) return undefined;
      live.isFetching = false;
      // When the store is there again, all sessions are compared.
      if (link.isUp) log.error({ err: error, session: sk }, "A session could not be read");
      return undefined;
    }
  }

  /** Tells all nodes that a client here asks for the ends of answers. */
  private async requestEnds(
    { place: { keys, sk } }: LiveSession,
    opening: Promise<void> | undefined,
  ): Promise<void> {
    const { link, space } = this.context;
    try {
      await opening;
      this.options.drafts.noteEndsRequested(sk);
      await link.run({ script: "requestEnds", keys, values: [sk, space.nodes], repeats: true });
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
    const { link, space, node } = this.context;
    const values = [place.sk, space.nodes, node.me];
    const call = { script: "leave", keys: place.keys, values, repeats: true } as const;
    // Nodes that still listen to the session. None if the store is away.
    const listeners = Number(await link.run(call).catch(() => 0));
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
