// Starts plugins in tests, with a stopped clock and a captured log.
import { SimulatedClock } from "xstate";
import { createKernel, type Kernel, type KernelOptions } from "./kernel.ts";
import type { Clock, Log, LogLine } from "./plugin.ts";
import type { AnyPlugin, Wired } from "./wiring.ts";

/** One captured log line: its fields, level and text. */
export interface LogEntry {
  /** The method of `Log` that wrote the line. */
  readonly level: keyof Log;
  /** The text of the line, without its fields. */
  readonly text: string;
  readonly [field: string]: unknown;
}

/** Creates a log that keeps its lines, oldest first, without a limit. */
export function createCapturedLog(): { log: Log; lines: LogEntry[] } {
  const lines: LogEntry[] = [];
  const line =
    (level: keyof Log): LogLine =>
    (fields, text) =>
      void lines.push({ ...fields, level, text });
  return {
    log: { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") },
    lines,
  };
}

/** A clock that only a test advances; `increment` runs the timers that are due. */
export interface StoppedClock extends Clock {
  /** Advances the time by this many milliseconds, and runs the timers that are due in order. */
  increment(ms: number): void;
  /** Unix milliseconds. */
  set(now: number): void;
}
/** Creates a clock that starts at 0; `monotonic` equals `now`. */
export function createStoppedClock(): StoppedClock {
  const clock = new SimulatedClock();
  return Object.assign(clock, { monotonic: () => clock.now() });
}

/** A started kernel with the means to control and observe it. */
export interface TestKernel<L extends readonly unknown[]> {
  /** Started; `withKernel` stops it after the visit. */
  readonly kernel: Kernel<L>;
  /** The clock of all plugins. It only moves when the test moves it. */
  readonly clock: StoppedClock;
  /** Log lines so far, oldest first; later lines are added. */
  readonly lines: readonly LogEntry[];
}

/** Starts the plugins with a stopped clock and a captured log, and always stops them. */
export async function withKernel<const L extends readonly AnyPlugin[]>(
  plugins: L & Wired<L>,
  visit: (testKernel: TestKernel<L>) => void | Promise<void>,
  options: Omit<KernelOptions<L>, "clock" | "log"> & { readonly clock?: StoppedClock } = {},
): Promise<void> {
  const clock = options.clock ?? createStoppedClock();
  const { log, lines } = createCapturedLog();
  const kernel = createKernel<L>(plugins, { ...options, clock, log } as KernelOptions<L>);
  await kernel.start();
  try {
    await visit({ kernel, clock, lines });
  } finally {
    await kernel.stop();
  }
}
