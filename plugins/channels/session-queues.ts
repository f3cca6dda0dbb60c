/** Calls `done` once, now or later. */
export type Task = (done: () => void) => void;

/** Idle lanes that are kept: most sessions go on. */
const maxIdleQueues = 1_024;

/** Work in order within a lane, lanes side by side. */
export interface SessionQueues {
  /** Runs when its turn comes; `run` never throws. A lane is a session of a channel. */
  add(channel: string, session: string, task: Task): void;
  /** Work of this session, or of any of the channel, is running or waits. */
  has(channel: string, session?: string): boolean;
  /** Forgets all that waits. */
  clear(): void;
}

interface SessionQueue {
  waiting: Task[];
  running: number;
  /** Somebody further up the stack looks for the next one. */
  looking: boolean;
  readonly done: () => void;
}

const isIdle = ({ running, waiting }: SessionQueue): boolean =>
  running === 0 && waiting.length === 0;

/** `width`: how many of one lane run side by side. */
export function createSessionQueues(width: () => number): SessionQueues {
  const channels = new Map<string, Map<string, SessionQueue>>();

  function next(lanes: Map<string, SessionQueue>, name: string, sessionQueue: SessionQueue): void {
    if (sessionQueue.looking) return;
    sessionQueue.looking = true;
    while (sessionQueue.running < width()) {
      const task = sessionQueue.waiting.shift();
      if (task === undefined) break;
      sessionQueue.running += 1;
      task(sessionQueue.done);
    }
    sessionQueue.looking = false;
    if (isIdle(sessionQueue) && lanes.size > maxIdleQueues && lanes.get(name) === sessionQueue)
      lanes.delete(name);
  }

  function open(lanes: Map<string, SessionQueue>, name: string): SessionQueue {
    const done = (): void => {
      sessionQueue.running -= 1;
      next(lanes, name, sessionQueue);
    };
    const sessionQueue: SessionQueue = { waiting: [], running: 0, looking: false, done };
    lanes.set(name, sessionQueue);
    return sessionQueue;
  }

  function lanesOf(channel: string): Map<string, SessionQueue> {
    const lanes = channels.get(channel) ?? new Map<string, SessionQueue>();
    if (lanes.size === 0) channels.set(channel, lanes);
    return lanes;
  }

  return {
    add(channel, session, task) {
      const lanes = lanesOf(channel);
      const sessionQueue = lanes.get(session) ?? open(lanes, session);
      sessionQueue.waiting.push(task);
      next(lanes, session, sessionQueue);
    },
    clear() {
      for (const lanes of channels.values())
        for (const sessionQueue of lanes.values()) sessionQueue.waiting = [];
    },
    has(channel, session) {
      const lanes = channels.get(channel) ?? new Map<string, SessionQueue>();
      const asked = session === undefined ? [...lanes.values()] : [lanes.get(session)];
      return asked.some((sessionQueue) => sessionQueue !== undefined && !isIdle(sessionQueue));
    },
  };
}
