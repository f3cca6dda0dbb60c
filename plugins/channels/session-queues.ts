/** Runs tasks of one session in order, and tasks of different sessions in parallel. */

/** Where a task runs. One object per session: it belongs to no single task. */
export interface Slot {
  /** Frees the place for the next task, while this one may continue. At most once. */
  release(): void;
  /** Forgets a task that has ended. At most once, after `release`. */
  forget(task: Task): void;
}

interface Task {
  /** Calls `release` and `forget` of the slot, now or later. Must not throw. */
  start(slot: Slot): void;
}

/** Idle queues that are kept for reuse, because most sessions continue. */
const maxIdleQueues = 1_024;

interface SessionQueue<T extends Task> {
  waiting: T[];
  /** Tasks that have started and are not forgotten. */
  readonly started: T[];
  /** Started tasks that occupy a place. */
  running: number;
  /** True while `runNext` is on the stack; prevents re-entrant calls. */
  isDraining: boolean;
  readonly slot: Slot;
}

type Queues<T extends Task> = Map<string, SessionQueue<T>>;

const isIdle = <T extends Task>({ started, waiting }: SessionQueue<T>): boolean =>
  started.length === 0 && waiting.length === 0;

export class SessionQueues<T extends Task> {
  private readonly width: () => number;
  private readonly byChannel = new Map<string, Queues<T>>();
  /** Tasks of all sessions that have started and are not forgotten. */
  private count = 0;
  /** Calls of `drained` that wait. */
  private waiting: (() => void)[] = [];

  /** @param width - Returns how many tasks of one session may run in parallel. */
  constructor(width: () => number) {
    this.width = width;
  }

  /** Starts `task` when its turn comes. */
  add(channel: string, session: string, task: T): void {
    const queues = this.byChannel.get(channel) ?? new Map<string, SessionQueue<T>>();
    this.byChannel.set(channel, queues);
    const queue = queues.get(session) ?? this.open(queues, session);
    queue.waiting.push(task);
    this.runNext(queue);
  }

  /** Lists the channels that have had tasks. */
  channels(): readonly string[] {
    return [...this.byChannel.keys()];
  }

  /** True if tasks of this session (default: of any session of the channel) run or wait. */
  has(channel: string, session?: string): boolean {
    if (session === undefined) return this.queuesOf(channel).some((queue) => !isIdle(queue));
    const queue = this.find(channel, session);
    return queue !== undefined && !isIdle(queue);
  }

  /** Lists the sessions of the channel with tasks that run or wait. */
  busySessions(channel: string): readonly string[] {
    const queues = [...(this.byChannel.get(channel) ?? [])];
    return queues.flatMap(([name, queue]) => (isIdle(queue) ? [] : name));
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
    return this.byChannel.get(channel)?.get(session);
  }

  private queuesOf(channel?: string): readonly SessionQueue<T>[] {
    const own = channel === undefined ? this.byChannel.values() : [this.byChannel.get(channel)];
    return [...own].flatMap((queues) => [...(queues?.values() ?? [])]);
  }

  private open(queues: Queues<T>, name: string): SessionQueue<T> {
    const slot: Slot = {
      release: () => {
        queue.running -= 1;
        this.runNext(queue);
      },
      forget: (task) => {
        queue.started.splice(queue.started.indexOf(task as T), 1);
        this.count -= 1;
        if (this.count === 0) for (const resolve of this.waiting.splice(0)) resolve();
        if (isIdle(queue) && queues.size > maxIdleQueues && queues.get(name) === queue)
          queues.delete(name);
      },
    };
    const queue: SessionQueue<T> = {
      ...{ waiting: [], started: [], running: 0, isDraining: false },
      slot,
    };
    queues.set(name, queue);
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
