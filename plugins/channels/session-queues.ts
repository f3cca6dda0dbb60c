/** Calls `done` once, now or later. */
export type Task = (done: () => void) => void;

/** Idle lanes that are kept: most sessions go on. */
const maxIdleQueues = 1_024;

/** Work in order within a lane, lanes side by side. */
export interface SessionQueues {
  /** Runs when its turn comes; `run` never throws. A lane is a session of a channel. */
  add(channel: string, session: string, run: Task): void;
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

  function next(lanes: Map<string, SessionQueue>, name: string, lane: SessionQueue): void {
    if (lane.looking) return;
    lane.looking = true;
    while (lane.running < width()) {
      const run = lane.waiting.shift();
      if (run === undefined) break;
      lane.running += 1;
      run(lane.done);
    }
    lane.looking = false;
    if (isIdle(lane) && lanes.size > maxIdleQueues && lanes.get(name) === lane) lanes.delete(name);
  }

  function open(lanes: Map<string, SessionQueue>, name: string): SessionQueue {
    const done = (): void => {
      lane.running -= 1;
      next(lanes, name, lane);
    };
    const lane: SessionQueue = { waiting: [], running: 0, looking: false, done };
    lanes.set(name, lane);
    return lane;
  }

  function lanesOf(channel: string): Map<string, SessionQueue> {
    const lanes = channels.get(channel) ?? new Map<string, SessionQueue>();
    if (lanes.size === 0) channels.set(channel, lanes);
    return lanes;
  }

  return {
    add(channel, session, run) {
      const lanes = lanesOf(channel);
      const lane = lanes.get(session) ?? open(lanes, session);
      lane.waiting.push(run);
      next(lanes, session, lane);
    },
    clear() {
      for (const lanes of channels.values()) for (const lane of lanes.values()) lane.waiting = [];
    },
    has(channel, session) {
      const lanes = channels.get(channel) ?? new Map<string, SessionQueue>();
      const asked = session === undefined ? [...lanes.values()] : [lanes.get(session)];
      return asked.some((lane) => lane !== undefined && !isIdle(lane));
    },
  };
}
