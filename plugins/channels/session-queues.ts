/** Runs tasks of one session in order, and tasks of different sessions in parallel. */
import type { Session, SessionQueue, Slot, Task } from "./session.ts";
import type { Sessions } from "./sessions.ts";

export class SessionQueues<T extends Task> {
  private readonly width: () => number;
  private readonly sessions: Sessions;
  /** Channels that have had tasks. */
  private readonly used = new Set<string>();
  /** Tasks of all sessions that have started and are not forgotten. */
  private count = 0;
  /** Calls of `drained` that wait. */
  private waiting: (() => void)[] = [];

  /** @param width - Returns how many tasks of one session may run in parallel. */
  constructor(width: () => number, sessions: Sessions) {
    this.width = width;
    this.sessions = sessions;
  }

  /** Starts `task` when its turn comes. */
  add(channel: string, session: string, task: T): void {
    const own = this.sessions.open({ channel, session });
    const queue = this.queueOf(own) ?? this.createQueue();
    own.queue = queue;
    this.used.add(channel);
    queue.waiting.push(task);
    this.runNext(queue);
  }

  /** Lists the channels that have had tasks. */
  channels(): readonly string[] {
    return [...this.used];
  }

  /** True if tasks of this session (default: of any session of the channel) run or wait. */
  has(channel: string, session?: string): boolean {
    if (session !== undefined)
      return this.sessions.find({ channel, session })?.hasMessages() === true;
    return this.sessions.list(channel).some((each) => each.hasMessages());
  }

  /** Lists the sessions of the channel with tasks that run or wait. */
  busySessions(channel: string): readonly string[] {
    const busy = this.sessions.list(channel).filter((each) => each.hasMessages());
    return busy.map(({ session }) => session);
  }

  /** Returns the tasks of a session that have started and are not forgotten, oldest first. */
  started(channel: string, session: string): readonly T[] {
    return [...(this.find(channel, session)?.started ?? [])];
  }

  /** Returns the tasks of a channel (default: of all) that have started and are not forgotten. */
  allStarted(channel?: string): readonly T[] {
    return this.queuesOf(channel).flatMap(({ started }) => started);
  }

  /** Removes the waiting tasks of a session that match, and returns them. */
  remove(channel: string, session: string, matches: (task: T) => boolean): readonly T[] {
    const queue = this.find(channel, session);
    const removed = queue?.waiting.filter(matches) ?? [];
    if (queue && removed.length > 0)
      queue.waiting = queue.waiting.filter((task) => !removed.includes(task));
    return removed;
  }

  /** Removes the waiting tasks of a channel, and returns them. */
  clear(channel: string): readonly T[] {
    return this.queuesOf(channel).flatMap((queue) => queue.waiting.splice(0));
  }

  /** Resolves when no task runs or waits. */
  async drained(): Promise<void> {
    if (this.count > 0) await new Promise<void>((resolve) => void this.waiting.push(resolve));
  }

  private find(channel: string, session: string): SessionQueue<T> | undefined {
    return this.queueOf(this.sessions.find({ channel, session }));
  }

  private queuesOf(channel?: string): readonly SessionQueue<T>[] {
    return this.sessions.list(channel).flatMap((session) => this.queueOf(session) ?? []);
  }

  /** All tasks are of one kind. */
  private queueOf(session: Session | undefined): SessionQueue<T> | undefined {
    return session?.queue as SessionQueue<T> | undefined;
  }

  private createQueue(): SessionQueue<T> {
    const slot: Slot = {
      release: () => {
        queue.running -= 1;
        this.runNext(queue);
      },
      forget: (task) => {
        queue.started.splice(queue.started.indexOf(task as T), 1);
        this.count -= 1;
        if (this.count === 0) for (const resolve of this.waiting.splice(0)) resolve();
      },
    };
    const queue: SessionQueue<T> = {
      ...{ waiting: [], started: [], running: 0, isDraining: false },
      slot,
    };
    return queue;
  }

  private runNext(queue: SessionQueue<T>): void {
    if (queue.isDraining) return;
    queue.isDraining = true;
    while (queue.running < this.width()) {
      const task = queue.waiting.shift();
      if (task === undefined) break;
      this.count += 1;
      queue.running += 1;
      queue.started.push(task);
      task.start(queue.slot);
    }
    queue.isDraining = false;
  }
}
