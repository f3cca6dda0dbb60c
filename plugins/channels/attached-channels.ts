/** The adapters of the attached channels, with counts of their messages and sessions. */
import type { AttachedChannel, ChannelAdapter } from "./contract.ts";
import { updateIntervalMs } from "./reply-streams.ts";

/** Sessions with a client that are counted. */
const maxSessions = 10_000;

interface Attached {
  readonly adapter: ChannelAdapter;
  readonly isKept: boolean;
  readonly sessions: Set<string>;
  received: number;
  sent: number;
}

/** Finds adapters by name, and counts their messages and sessions. */
export class AttachedChannels {
  private readonly byName = new Map<string, Attached>();

  get size(): number {
    return this.byName.size;
  }

  get(name: string): ChannelAdapter | undefined {
    return this.byName.get(name)?.adapter;
  }

  /** Milliseconds between two updates of a growing message. */
  updateMs(name: string): number {
    return this.get(name)?.updateMs ?? updateIntervalMs;
  }

  all(): readonly ChannelAdapter[] {
    return [...this.byName.values()].map(({ adapter }) => adapter);
  }

  add(adapter: ChannelAdapter, isKept: boolean): void {
    const counts = { received: 0, sent: 0 };
    this.byName.set(adapter.name, { adapter, isKept, sessions: new Set(), ...counts });
  }

  delete(name: string): void {
    this.byName.delete(name);
  }

  /** True if the messages of this channel are in the conversations. */
  isKept(name: string): boolean {
    return this.byName.get(name)?.isKept === true;
  }

  countReceived(name: string): void {
    const found = this.byName.get(name);
    if (found) found.received += 1;
  }

  countSent(name: string): void {
    const found = this.byName.get(name);
    if (found) found.sent += 1;
  }

  /** A session has a client, or none any more. */
  noteSession(name: string, session: string, isActive: boolean): void {
    const { sessions } = this.byName.get(name) ?? {};
    if (!isActive) sessions?.delete(session);
    else if (sessions && sessions.size < maxSessions) sessions.add(session);
  }

  list(): readonly AttachedChannel[] {
    return [...this.byName].map(([name, { adapter, isKept, sessions, received, sent }]) => ({
      name,
      isKept,
      acceptsConsole: adapter.accepts === "console",
      received,
      sent,
      sessions: sessions.size,
    }));
  }
}
