// Creates a kernel: checks and starts its plugins, stops them, and reports their health.
import { createBus, type Bus } from "./bus.ts";
import { ConfigurationStore } from "./configuration.ts";
import { consoleLog, createSafeLog, noop, systemClock, createRandom } from "./defaults.ts";
import { codeOf, kernelErrors } from "./errors.ts";
import { createLifecycle, isOver, type Lifecycle, type Status } from "./lifecycle.ts";
import { PluginRun, type PluginPhase } from "./plugin-run.ts";
import type { Awaitable, Clock, LauncherState, Log, ProcessState, Release } from "./plugin.ts";
import type { AnyPlugin, ConfigOf, EventsOf, ServicesOf, Wired } from "./wiring.ts";

/**
 * Checks names, versions and settings of a plugin list without starting anything.
 *
 * @throws The errors that a start would throw about them.
 */
export function checkPlugins(
  plugins: readonly AnyPlugin[],
  config: Readonly<Record<string, unknown>> = {},
): void {
  validatePlugins(plugins);
  void new ConfigurationStore(plugins, config, noop);
}

const namePattern = /^(?!(kernel|host)$)[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const pluginForm = "a plugin is { name, api: 1, start }";

/** @returns A description of an entry that is not a plugin, and the fix. */
function describeMistake(entry: unknown): readonly [what: string, fix: string] | undefined {
  if (typeof entry === "function") {
    const name = entry.name || "it";
    return [`the function ${name}`, `call it: ${name}()`];
  }
  if (entry instanceof Promise) return ["a promise", "await it"];
  if (Array.isArray(entry)) return ["an array", "spread it: ...list"];
  if (typeof entry !== "object" || entry === null)
    return [String(entry), "remove it, or check where it is imported from"];
  const { name, start } = entry as Partial<AnyPlugin>;
  if (typeof name !== "string") return ["an object without a name", pluginForm];
  return typeof start === "function" ? undefined : [`"${name}" without start()`, pluginForm];
}

/** Throws KERNEL_NOT_A_PLUGIN, KERNEL_PLUGIN_NAME, KERNEL_PLUGIN_API or KERNEL_DUPLICATE_PLUGIN. */
function validatePlugins(plugins: readonly AnyPlugin[]): void {
  const names = new Set<string>();
  for (const [index, plugin] of plugins.entries()) {
    const mistake = describeMistake(plugin);
    if (mistake) throw kernelErrors.KERNEL_NOT_A_PLUGIN(index + 1, ...mistake);
    const { name, api } = plugin;
    if (!namePattern.test(name)) throw kernelErrors.KERNEL_PLUGIN_NAME(name);
    if (api !== 1) throw kernelErrors.KERNEL_PLUGIN_API(name, api);
    if (names.has(name)) throw kernelErrors.KERNEL_DUPLICATE_PLUGIN(name);
    names.add(name);
  }
}

const defaultStopMs = 10_000;

/** Options of `createKernel`. */
export interface KernelOptions<L extends readonly unknown[] = readonly unknown[]> {
  /**
   * Sections by path, `"channels.pico": { … }`. Tokens are rejected: they belong to the token
   * store.
   */
  readonly config?: ConfigOf<L>;
  /**
   * Plugins known only at run time. They start last, and their needs are checked when they start.
   * If a plugin with `optional: true` fails or takes longer than 10 s, only that plugin is stopped;
   * `health()` gives the reason.
   */
  readonly plugins?: readonly AnyPlugin[];
  /**
   * Milliseconds that a plugin may take for its start, and again for its ready steps. Does not
   * apply to optional plugins. @defaultValue 60,000
   */
  readonly startTimeoutMs?: number;
  /** @defaultValue Warnings and errors to the console. */
  readonly log?: Log;
  /** Time and timers of all plugins. @defaultValue the system clock */
  readonly clock?: Clock;
  /** Returns this many random bytes for tokens and ids. @defaultValue `crypto.getRandomValues` */
  readonly random?: (bytes: number) => Uint8Array;
  /** Stops the kernel within 10 s when it aborts. A start then throws `KERNEL_START_ABORTED`. */
  readonly signal?: AbortSignal;
  /**
   * Receives XState's inspection events: every actor, event and snapshot of the kernel's
   * statechart.
   */
  readonly inspect?: (event: any) => void;
}

/** The health of a kernel. */
export interface Health {
  /** False once the kernel has stopped or failed: restart the process. */
  readonly live: boolean;
  /** True while all plugins are ready, from the last ready step until the stop begins. */
  readonly ready: boolean;
  /** State of the kernel in its statechart. */
  readonly process: ProcessState;
  /**
   * In list order. `phase`: `waiting`, `starting`, `started`, `ready`, `stopping`, `stopped` or
   * `failed`. `reason`: the message of the error, which may quote what the plugin was passed.
   */
  readonly plugins: { name: string; phase: PluginPhase; reason?: string }[];
}

/** A list of plugins that starts and stops together. */
export interface Kernel<L extends readonly unknown[]> extends AsyncDisposable {
  /** Services by name, as the plugins offer them. Complete when `start` has resolved. */
  readonly services: ServicesOf<L>;
  /**
   * Starts all plugins in list order.
   *
   * @throws The error of the first plugin that fails, after everything that had started was
   * stopped.
   * @throws KERNEL_BUSY if the kernel is started already.
   * @throws KERNEL_START_ABORTED if the start was aborted.
   */
  start(options?: { signal?: AbortSignal }): Promise<void>;
  /**
   * Stops all plugins, the last one started first; also while a start is in progress. A plugin that
   * does not stop takes no time from the others. After `timeoutMs` its name is logged and it is
   * left as it is. A second call can shorten the time, but not extend it.
   *
   * @param options.timeoutMs - Milliseconds. @defaultValue 10,000
   */
  stop(options?: { timeoutMs?: number }): Promise<void>;
  /** The state of the launcher: `running` if no plugin drives it and the kernel has started. */
  state(): LauncherState;
  /** Describes the kernel and each plugin, in every state. */
  health(): Health;
  /**
   * Subscribes a listener of the host. It begins after the listeners that subscribed before, and is
   * not awaited; if it throws, the event `kernel:fault` follows.
   *
   * @returns A function that ends the subscription.
   */
  on<K extends keyof EventsOf<L>>(
    type: K,
    handler: (payload: EventsOf<L>[K]) => Awaitable<void>,
  ): Release;
}

/** Emits the kernel's own events about its state. */
function createAnnouncer(bus: Bus, onOver: () => void) {
  let isAnnounced = false;
  return (from: Status, to: Status, timeoutMs: number): void => {
    if (isOver(to)) {
      isAnnounced = false;
      onOver();
    } else if (isAnnounced && from.launcher !== to.launcher) {
      bus.emit("kernel:state-changed", { from: from.launcher, to: to.launcher });
    } else if (!isAnnounced && to.process === "ready") {
      isAnnounced = true;
      bus.emit("kernel:state-changed", { from: null, to: to.launcher });
    }
    if (from.process === "ready" && to.process === "stopping")
      bus.emit("kernel:stop-begun", { timeoutMs });
  };
}

function createFaultReporter(bus: Bus, log: Log) {
  return (plugin: string, during: string, error: unknown): void => {
    const code = codeOf(error);
    log.error({ plugin, during, err: error }, "plugin fault");
    if (during === "kernel:fault") return;
    // The message of an unknown error may quote a secret: it stays in the log.
    const message = code === "internal" ? "internal error" : (error as Error).message;
    bus.emit("kernel:fault", { plugin, during, code, message });
  };
}

function readHealth(list: readonly AnyPlugin[], lifecycle: Lifecycle): Health {
  const status = lifecycle.status();
  const runs = lifecycle.runs();
  const plugins = list.map((plugin, index) => {
    const { phase = "waiting", reason } = runs[index] ?? {};
    const name = String((plugin as AnyPlugin | undefined)?.name);
    if (phase === "failed" && status.process !== "stopped")
      return { name, phase, reason: reason instanceof Error ? reason.message : String(reason) };
    return { name, phase: runs.length > 0 && isOver(status) ? ("stopped" as const) : phase };
  });
  const { process } = status;
  return { live: !isOver(status), ready: process === "ready", process, plugins };
}

/**
 * Creates a kernel with a list of plugins. Each plugin comes after the plugins whose services it
 * needs.
 *
 * @example
 * import { createKernel } from "doorward";
 * import { channels } from "doorward/plugins/channels";
 * import { http } from "doorward/plugins/http";
 * import { picoServer } from "doorward/plugins/pico-server";
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * const plugins = [tokenStore(memory({ pico: token })), channels(), http(), picoServer()] as const;
 * const kernel = createKernel(plugins, { config: { "channels.pico": { enabled: true } } });
 * await kernel.start();
 */
export function createKernel<const L extends readonly AnyPlugin[]>(
  plugins: L & Wired<L>,
  options: KernelOptions<L> = {},
): Kernel<L> {
  const { clock = systemClock, random = createRandom(), signal, startTimeoutMs = 60_000 } = options;
  if (typeof clock.monotonic !== "function") throw kernelErrors.KERNEL_CLOCK();
  const log = createSafeLog(options.log ?? consoleLog);
  const list: readonly AnyPlugin[] = [...(plugins as L), ...(options.plugins ?? [])];
  const bus = createBus();
  const services: Record<string, unknown> = {};
  const reportFault = createFaultReporter(bus, log);
  const onAbort = (): void => lifecycle.requestStop(defaultStopMs);
  // The signal may outlive many kernels.
  const onOver = (): void => signal?.removeEventListener("abort", onAbort);
  const onTransition = createAnnouncer(bus, onOver);
  const lifecycle = createLifecycle(clock, onTransition, options.inspect);

  const kernel: Kernel<L> = {
    services: services as ServicesOf<L>,
    state: lifecycle.state,
    health: () => readHealth(list, lifecycle),
    on: (type, handler) =>
      bus.on(type as string, handler, (error) => reportFault("host", type as string, error)),
    async start({ signal: own } = {}) {
      if (!isOver(lifecycle.status())) throw kernelErrors.KERNEL_BUSY();
      validatePlugins(list);
      const configuration = new ConfigurationStore(list, options.config ?? {}, reportFault);
      const signals = [signal, own].filter((each) => each !== undefined);
      if (signals.some(({ aborted }) => aborted)) throw kernelErrors.KERNEL_START_ABORTED();
      const shared = { bus, clock, log, random, lifecycle, configuration, services };
      const context = { ...shared, startTimeoutMs, reportFault };
      for (const each of signals) each.addEventListener("abort", onAbort);
      try {
        await lifecycle.start(list.map((plugin) => new PluginRun(plugin, context)));
      } finally {
        if (own !== signal) own?.removeEventListener("abort", onAbort);
      }
    },
    async stop({ timeoutMs = defaultStopMs } = {}) {
      lifecycle.requestStop(timeoutMs);
      await lifecycle.untilStopped();
    },
    [Symbol.asyncDispose]: () => kernel.stop(),
  };
  return kernel;
}
