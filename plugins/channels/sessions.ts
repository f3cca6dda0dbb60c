/** The one map of sessions. Idle ones leave: after a while, or if there are too many. */
import type { Clock } from "../../kernel/index.ts";
import { keyOf } from "../../lib/util.ts";
import type { Address } from "./contract.ts";
import { Session, type SessionEnds } from "./session.ts";

/** Milliseconds after which an idle session leaves. */
const idleMs = 600_000;
const maxSessions = 65_536;
/** Ids of messages in all sessions. */
const maxIds = 65_536;

const idsIn = ({ ids }: Session): number =>
  ids ? ids.open.size + ids.newer.size + (ids.older?.size ?? 0) : 0;

export class Sessions {
  private readonly clock: Pick<Clock, "monotonic">;
  /** Roughly the least recently used first. */
  private readonly all = new Map<string, Session>();
  private ends: SessionEnds | undefined;
  /** Ids of messages that the sessions know. */
  private ids = 0;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.clock = clock;
  }

  /** @param ends - What ends with each session. */
  connect(ends: SessionEnds): void {
    this.ends = ends;
  }

  find({ channel, session }: Address): Session | undefined {
    return this.all.get(keyOf(channel, session));
  }

  /** @returns The session, which is new if it was unknown or had left. */
  open(address: Address): Session {
    const key = keyOf(address.channel, address.session);
    const now = this.clock.monotonic();
    const known = this.all.get(key);
    if (known) {
      known.usedAt = now;
      known.isUsed = true;
      return known;
    }
    this.dropIdle(now);
    this.makeRoom();
    const opened = new Session(address, now, () => this.ends!);
    this.all.set(key, opened);
    return opened;
  }

  /** Lists the sessions, or those of one channel. */
  list(channel?: string): readonly Session[] {
    const all = [...this.all.values()];
    return channel === undefined ? all : all.filter((session) => session.channel === channel);
  }

  /** Notes how many ids a session has more, or fewer. */
  countIds(change: number): void {
    this.ids += change;
    if (change > 0) this.makeRoom();
  }

  /** The ids of a session are not needed any more. */
  forgetIds(session: Session): void {
    this.ids -= idsIn(session);
    session.ids = undefined;
  }

  private dropIdle(now: number): void {
    for (const [key, session] of this.all) {
      if (now - session.usedAt < idleMs) return;
      if (session.isBusy() || session.isRemembering()) {
        session.usedAt = now;
        this.spare(key, session);
      } else this.drop(key, session);
    }
  }

  /** A session that was used is spared once. One in work stays without its ids. */
  private makeRoom(): void {
    let left = 2 * this.all.size;
    for (const [key, session] of this.all) {
      if ((this.all.size <= maxSessions && this.ids <= maxIds) || left === 0) return;
      left -= 1;
      if (session.isUsed) this.spare(key, session);
      else if (!session.isBusy()) this.drop(key, session);
      else {
        this.forgetIds(session);
        this.spare(key, session);
      }
    }
  }

  /** Moves it behind all others. */
  private spare(key: string, session: Session): void {
    session.isUsed = false;
    this.all.delete(key);
    this.all.set(key, session);
  }

  private drop(key: string, session: Session): void {
    this.forgetIds(session);
    this.all.delete(key);
  }
}
