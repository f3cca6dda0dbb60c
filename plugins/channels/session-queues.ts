/** Runs tasks of one session in order, and tasks of different sessions in parallel. */

/** The place of a running task in its queue. One object per queue: it belongs to no single task. */
export interface Slot {
  /** Frees the place for the next task, while this one continues. At most once, before `end`. */
  release(): void;
  /** Ends the task. */
  end(wasReleased: boolean): void;
}

/** Calls `end` of its slot once, now or later. */
export type Task = (slot: Slot) => void;

/** Idle queues that are kept for reuse, because most sessions continue. */
const maxIdleQueues = 1_024;

export interface SessionQueues {
  /** Runs `task` when its turn comes; `task` must not throw. */
  add(channel: string, session: string, task: Task): void;
  /** True if tasks of this session (default: of any session of the channel) run or wait. */
  has(channel: string, session?: string): boolean;
  /** Drops all waiting tasks. */
  clear(): void;
}

interface SessionQueue {
  waiting: Task[];
  /** Tasks that occupy a place. */
  running: number;
  /** Tasks that have released their place and continue. */
  released: number;
  /** True while `runNext` is on the stack; prevents re-entrant calls. */
  isDraining: boolean;
  readonly slot: Slot;
}

const isIdle = ({ running, released, waiting }: SessionQueue): boolean =>
  running === 0 && released === 0 && waiting.length === 0;

/** @param width - Returns how many tasks of one session may run in parallel. */
export function createSessionQueues(width: () => number): SessionQueues {
  const channels = new Map<string, Map<string, SessionQueue>>();

  function runNext(queues: Map<string, SessionQueue>, name: string, queue: SessionQueue): void {
    if (queue.isDraining) return;
    queue.isDraining = true;
    while (queue.running < width()) {
      const task = queue.waiting.shift();
      if (task === undefined) break;
      queue.running += 1;
      task(queue.slot);
    }
    queue.isDraining = false;
    if (isIdle(queue) && queues.size > maxIdleQueues && queues.get(name) === queue)
      queues.delete(name);
  }

  function open(queues: Map<string, SessionQueue>, name: string): SessionQueue {
    const slot: Slot = {
      release() {
        queue.running -= 1;
        queue.released += 1;
        runNext(queues, name, queue);
      },
      end(wasReleased) {
        if (wasReleased) queue.released -= 1;
        else queue.running -= 1;
        runNext(queues, name, queue);
      },
    };
    const queue: SessionQueue = { waiting: [], running: 0, released: 0, isDraining: false, slot };
    queues.set(name, queue);
    return queue;
  }

  function queuesOf(channel: string): Map<string, SessionQueue> {
    const queues = channels.get(channel) ?? new Map<string, SessionQueue>();
    if (queues.size === 0) channels.set(channel, queues);
    return queues;
  }

  return {
    add(channel, session, task) {
      const queues = queuesOf(channel);
      const queue = queues.get(session) ?? open(queues, session);
      queue.waiting.push(task);
      runNext(queues, session, queue);
    },
    clear() {
      for (const queues of channels.values())
        for (const queue of queues.values()) queue.waiting = [];
    },
    has(channel, session) {
      const queues = channels.get(channel) ?? new Map<string, SessionQueue>();
      const candidates = session === undefined ? [...queues.values()] : [queues.get(session)];
      return candidates.some((queue) => queue !== undefined && !isIdle(queue));
    },
  };
}
