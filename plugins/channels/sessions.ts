/** The one map of sessions. Idle ones leave: after a while, or if there are too many. */
import type { Clock } from "../../kernel/index.ts";
import type { Address } from "./contract.ts";
import { Session, type SessionEnds } from "./session.ts";

/** Milliseconds after which an idle session leaves. */
const idleMs = 600_000;
const maxSessions = 65_536;
/** Ids of messages in all sessions. */
const maxIds = 65_536;

const idsIn = ({ ids }: Session): number =>
  ids ? ids.open.size + ids.newer.size + (ids.older?.size ?? 0) + (ids.begun?.size ?? 0) : 0;

export class Sessions {
  private readonly clock: Pick<Clock, "monotonic">;
  /** By channel, then by name: a message asks several times, and one joined key costs more. */
  private readonly byChannel = new Map<string, Map<string, Session>>();
  /** The same sessions, roughly the least recently used first. */
  private readonly all = new Set<Session>();
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
    return this.byChannel.get(channel)?.get(session);
  }

  /** @returns The session, which is new if it was unknown or had left. */
  open(address: Address): Session {
    const { channel, session: name } = address;
    const now = this.clock.monotonic();
    const known = this.find(address);
    if (known) {
      known.usedAt = now;
      known.isUsed = true;
      return known;
    }
    this.dropIdle(now);
    this.makeRoom();
    const opened = new Session(address, now, () => this.ends!);
    const named = this.byChannel.get(channel) ?? new Map<string, Session>();
    this.byChannel.set(channel, named.set(name, opened));
    this.all.add(opened);
    return opened;
  }

  /** Lists the sessions, or those of one channel. */
  list(channel?: string): readonly Session[] {
    return channel === undefined
      ? [...this.all]
      : [...(this.byChannel.get(channel)?.values() ?? [])];
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
    for (const session of this.all) {
      if (now - session.usedAt < idleMs) return;
      if (session.isBusy() || session.isRemembering()) {
        session.usedAt = now;
        this.spare(session);
      } else this.drop(session);
    }
  }

  /** A session that was used is spared once. One in work stays without its ids. */
  private makeRoom(): void {
    let left = 2 * this.all.size;
    for (const session of this.all) {
      if ((this.all.size <= maxSessions && this.ids <= maxIds) || left === 0) return;
      left -= 1;
      if (session.isUsed) this.spare(session);
      else if (!session.isBusy()) this.drop(session);
      else {
        this.forgetIds(session);
        this.spare(session);
      }
    }
  }

  /** Moves it behind all others. */
  private spare(session: Session): void {
    session.isUsed = false;
    this.all.delete(session);
    this.all.add(session);
  }

  private drop(session: Session): void {
    this.forgetIds(session);
    this.byChannel.get(session.channel)?.delete(session.session);
    this.all.delete(session);
  }
}
