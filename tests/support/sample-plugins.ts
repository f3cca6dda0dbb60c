import { expect } from "vitest";
import { codeOf, createKernel } from "../../kernel/index.ts";
import type {
  AnyPlugin,
  Clock,
  LauncherState,
  Plugin,
  Scope,
  PluginShape,
} from "../../kernel/index.ts";
import { createLifecycle } from "../../kernel/lifecycle.ts";
import { PluginRun, type KernelContext } from "../../kernel/plugin-run.ts";
import { createCapturedLog, createStoppedClock } from "../../kernel/testing.ts";

type Bare = Plugin<{ emits: Record<never, never> }>;

/** A plugin that does only what a test is about. */
export function plugin(
  name: string,
  start: (scope: Scope<PluginShape>) => unknown = () => undefined,
  more: object = {},
): AnyPlugin {
  return { name, api: 1, start: start as Bare["start"], ...more };
}

/** A promise and what settles it. */
export function gate<T = void>(): {
  promise: Promise<T>;
  open: (value: T) => void;
  fail: (error: unknown) => void;
} {
  let open!: (value: T) => void;
  let fail!: (error: unknown) => void;
  const promise = new Promise<T>((resolve, reject) => {
    [open, fail] = [resolve, reject];
  });
  return { promise, open, fail };
}

type Refusal = Error & { code: string; details: Record<string, unknown> };

/** The error something throws or rejects with; a test fails when there is none. */
export async function rejection(attempt: (() => unknown) | Promise<unknown>): Promise<Refusal> {
  try {
    await (typeof attempt === "function" ? attempt() : attempt);
  } catch (error) {
    return error as Refusal;
  }
  return expect.fail("nothing was refused");
}

export async function codeFrom(attempt: (() => unknown) | Promise<unknown>): Promise<string> {
  return codeOf(await rejection(attempt));
}

/** Lets everything that is due in the queue of promises run. */
export const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

/** The launcher region of a kernel whose only plugin, the driver, never finishes its start. */
export function createLauncher(clock: Clock): ReturnType<typeof createLifecycle> & {
  onChange(changed: (from: LauncherState, to: LauncherState) => void): void;
} {
  let listener: ((from: LauncherState, to: LauncherState) => void) | undefined;
  const lifecycle = createLifecycle(
    clock,
    (from, to) => from.launcher !== to.launcher && listener?.(from.launcher, to.launcher),
    () => undefined,
  );
  const driver = plugin("driver", () => gate().promise, { drives: true });
  const context = {
    clock,
    log: createCapturedLog().log,
    services: {},
    startTimeoutMs: 1,
    lifecycle,
  };
  void lifecycle.start([new PluginRun(driver, context as unknown as KernelContext)]).catch(codeOf);
  return {
    ...lifecycle,
    onChange(changed: (from: LauncherState, to: LauncherState) => void) {
      listener = changed;
    },
  };
}

/** A kernel with a stopped clock and a captured log, not started yet. */
export function createTestKernel(plugins: readonly AnyPlugin[], options: object = {}) {
  const clock = createStoppedClock();
  const { log, lines } = createCapturedLog();
  const kernel = createKernel([], { plugins, clock, log, ...options });
  const logged = (level: string): string[] =>
    lines.filter((line) => line.level === level).map(({ text }) => text);
  return { kernel, clock, logged };
}
