/**
 * Runs tasks of one session in order, and tasks of different sessions in parallel. Tracks the
 * deliveries that have not settled.
 */
import type { DeliveryCallbacks } from "./contract.ts";

/** Where a task runs. One object per session: it belongs to no single task. */
export interface Slot {
  /** Frees the place for the next task, while this one may continue. At most once. */
  release(task: Task): void;
  /** Forgets a task that has ended. At most once, after `release`. */
  forget(task: Task): void;
}

export interface Task {
  /** Calls `release` and `forget` of the slot, now or later. Must not throw. */
  start(slot: Slot): void;
}

/** Idle queues that are kept for reuse, because most sessions continue. */
const maxIdleQueues = 1_024;

export interface SessionQueues<T extends Task> {
  /** Starts `task` when its turn comes. */
  add(channel: string, session: string, task: T): void;
  /** True if tasks of this session (default: of any session of the channel) run or wait. */
  has(channel: string, session?: string): boolean;
  /** Lists the channels that have had tasks. */
  channels(): readonly string[];
  /** Lists the sessions of the channel with tasks that run or wait. */
  busySessions(channel: string): readonly string[];
  /** Returns the tasks of a session that have started and are not forgotten, oldest first. */
  started(channel: string, session: string): readonly T[];
  /** Removes the waiting tasks of a session that match, and returns them. */
  remove(channel: string, session: string, matches: (task: T) => boolean): readonly T[];
  /** Removes the waiting tasks of a channel (default: of all), and returns them. */
  clear(channel?: string): readonly T[];
  /** Returns the tasks of a channel (default: of all) that have started and are not forgotten. */
  allStarted(channel?: string): readonly T[];
  /** Resolves when no task runs or waits. */
  drained(): Promise<void>;
}

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

const createQueue = <T extends Task>(slot: Slot): SessionQueue<T> => ({
  waiting: [],
  started: [],
  running: 0,
  isDraining: false,
  slot,
});

const isIdle = <T extends Task>({ started, waiting }: SessionQueue<T>): boolean =>
  started.length === 0 && waiting.length === 0;

const busyNames = <T extends Task>(queues: ReadonlyMap<string, SessionQueue<T>>) =>
  [...queues].flatMap(([name, queue]) => (isIdle(queue) ? [] : name));

function start<T extends Task>(queue: SessionQueue<T>, task: T): void {
  queue.running += 1;
  queue.started.push(task);
  task.start(queue.slot);
}

/** The tasks of all sessions that have started and are not forgotten. */
class TaskCount {
  private count = 0;
  private resolve: (() => void) | undefined;
  private empty: Promise<void> | undefined;

  add(): void {
    this.count += 1;
  }

  remove(): void {
    this.count -= 1;
    if (this.count > 0) return;
    this.resolve?.();
    this.empty = this.resolve = undefined;
  }

  drained(): Promise<void> {
    if (this.count === 0) return Promise.resolve();
    return (this.empty ??= new Promise((resolve) => void (this.resolve = resolve)));
  }
}

/** @param width - Returns how many tasks of one session may run in parallel. */
export function createSessionQueues<T extends Task>(width: () => number): SessionQueues<T> {
  type Queues = Map<string, SessionQueue<T>>;
  const channels = new Map<string, Queues>();
  const tasks = new TaskCount();
  const find = (channel: string, session: string) => channels.get(channel)?.get(session);

  function runNext(queue: SessionQueue<T>): void {
    if (queue.isDraining) return;
    queue.isDraining = true;
    while (queue.running < width()) {
      const task = queue.waiting.shift();
      if (task === undefined) break;
      tasks.add();
      start(queue, task);
    }
    queue.isDraining = false;
  }

  function open(queues: Queues, name: string): SessionQueue<T> {
    const slot: Slot = {
      release() {
        queue.running -= 1;
        runNext(queue);
      },
      forget(task) {
        queue.started.splice(queue.started.indexOf(task as T), 1);
        tasks.remove();
        if (isIdle(queue) && queues.size > maxIdleQueues && queues.get(name) === queue)
          queues.delete(name);
      },
    };
    const queue = createQueue<T>(slot);
    queues.set(name, queue);
    return queue;
  }

  const queuesFor = (channel?: string): readonly SessionQueue<T>[] =>
    (channel === undefined ? [...channels.values()] : [channels.get(channel) ?? new Map()]).flatMap(
      (queues: Queues) => [...queues.values()],
    );

  function queuesOf(channel: string): Queues {
    const queues = channels.get(channel) ?? new Map<string, SessionQueue<T>>();
    if (queues.size === 0) channels.set(channel, queues);
    return queues;
  }

  return {
    channels: () => [...channels.keys()],
    busySessions: (channel) => busyNames(channels.get(channel) ?? new Map()),
    add(channel, session, task) {
      const queues = queuesOf(channel);
      const queue = queues.get(session) ?? open(queues, session);
      queue.waiting.push(task);
      runNext(queue);
    },
    clear: (channel) => queuesFor(channel).flatMap((queue) => queue.waiting.splice(0)),
    allStarted: (channel) => queuesFor(channel).flatMap(({ started }) => started),
    drained: () => tasks.drained(),
    has(channel, session) {
      if (session === undefined) {
        for (const queue of channels.get(channel)?.values() ?? []) if (!isIdle(queue)) return true;
        return false;
      }
      const queue = find(channel, session);
      return queue !== undefined && !isIdle(queue);
    },
    started: (channel, session) => [...(find(channel, session)?.started ?? [])],
    remove(channel, session, matches) {
      const queue = find(channel, session);
      const removed = queue?.waiting.filter(matches) ?? [];
      if (queue && removed.length > 0)
        queue.waiting = queue.waiting.filter((task) => !removed.includes(task));
      return removed;
    },
  };
}

/** Callbacks that may need time to report an outcome. */
export interface ReportingCallbacks extends DeliveryCallbacks {
  /** Resolves when the outcome is stored and reported; undefined if that took no time. */
  readonly reporting?: Promise<void> | undefined;
}

/** One delivery; it settles once. */
export interface PendingDelivery {
  readonly outcome: ReportingCallbacks;
  settled: boolean;
}

/**
 * The deliveries that have not settled. `accept` and `reject` return `false` if the delivery has
 * already settled.
 */
export interface PendingDeliveries {
  open(callbacks: ReportingCallbacks): PendingDelivery;
  accept(pendingDelivery: PendingDelivery): boolean;
  reject(pendingDelivery: PendingDelivery, error: unknown): boolean;
  rejectAll(error: () => Error): void;
}

/**
 * @param failed - Receives errors thrown by the callbacks of a channel. Such an error must not stop
 *   the next messages of the session.
 */
export function createPendingDeliveries(failed: (error: unknown) => void): PendingDeliveries {
  const open = new Set<PendingDelivery>();

  function settle(pendingDelivery: PendingDelivery): boolean {
    if (pendingDelivery.settled) return false;
    pendingDelivery.settled = true;
    return open.delete(pendingDelivery);
  }

  function reject(pendingDelivery: PendingDelivery, error: unknown): boolean {
    if (!settle(pendingDelivery)) return false;
    try {
      pendingDelivery.outcome.rejected(error);
    } catch (thrown) {
      failed(thrown);
    }
    return true;
  }

  return {
    reject,
    open(deliveryCallbacks) {
      const pendingDelivery = { outcome: deliveryCallbacks, settled: false };
      open.add(pendingDelivery);
      return pendingDelivery;
    },
    accept(pendingDelivery) {
      if (!settle(pendingDelivery)) return false;
      try {
        pendingDelivery.outcome.accepted("accepted");
      } catch (thrown) {
        failed(thrown);
      }
      return true;
    },
    rejectAll(error) {
      for (const pendingDelivery of [...open]) reject(pendingDelivery, error());
    },
  };
}
