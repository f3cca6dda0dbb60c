import { createBus } from "./bus.ts";
import { createConfiguration } from "./configuration.ts";
import { consoleLog, silent, systemClock, systemRandom } from "./defaults.ts";
import { codeOf, kernelErrors } from "./errors.ts";
import { createLifecycle } from "./lifecycle.ts";
import type { Awaitable, Clock, LauncherState, Log, Release } from "./plugin.ts";
import { checkRoster } from "./roster.ts";
import { createScope, isLive, keep, type Stage } from "./scope.ts";
import { createDeadline, undoSteps, type Deadline } from "./undo.ts";
import type { AnyPlugin, FactsOf, ServicesOf, Wired } from "./wiring.ts";

export interface KernelOptions {
  /** Raw sections by path, `"channels.pico": { … }`. Tokens are refused here: they go to the token store. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Plugins known only at run time: started last, their wiring checked as they start. One with `optional: true` that
   *  fails, or takes longer than ten seconds, is undone and named in `health()`; the others start without it. */
  readonly plugins?: readonly AnyPlugin[];
  /** Default: warnings and errors to the console. */
  readonly log?: Log;
  readonly clock?: Clock;
  readonly random?: (bytes: number) => Uint8Array;
  /** Stops the kernel when it aborts. */
  readonly signal?: AbortSignal;
}

export type PluginPhase = "waiting" | "started" | "ready" | "stopped" | "failed";
export interface Health {
  readonly live: boolean;
  readonly ready: boolean;
  /** `reason`: in the error's own words, which may quote what the plugin was given. */
  readonly plugins: { name: string; phase: PluginPhase; reason?: string }[];
}

export interface Kernel<L extends readonly unknown[]> extends AsyncDisposable {
  readonly services: ServicesOf<L>;
  /** Rejects with a sentence a person can act on; everything that had started is undone first. */
  start(options?: { signal?: AbortSignal }): Promise<void>;
  /** Undoes everything, last in first out, a start under way too. After `timeoutMs` (default 10,000) what is stuck is
   *  named in the log and left. */
  stop(options?: { timeoutMs?: number }): Promise<void>;
  state(): LauncherState;
  health(): Health;
  on<K extends keyof FactsOf<L>>(
    type: K,
    handler: (fact: FactsOf<L>[K]) => Awaitable<void>,
  ): Release;
}

export function createKernel<const L extends readonly AnyPlugin[]>(
  plugins: L & Wired<L>,
  options: KernelOptions = {},
): Kernel<L> {
  const { log = consoleLog, clock = systemClock, random = systemRandom, signal } = options;
  const roster: readonly AnyPlugin[] = [
    ...(plugins as readonly AnyPlugin[]),
    ...(options.plugins ?? []),
  ];
  const bus = createBus();
  const services: Record<string, unknown> = {};
  const phases = new Map<string, { phase: PluginPhase; reason?: string }>();
  let stage: Stage | undefined;
  let starting: Promise<void> | undefined;
  let stopping: Promise<void> | undefined;
  let deadline: Deadline | undefined;
  let ready = false;
  let calledOff = false;
  let giveUp = silent;

  const fault = (plugin: string, during: string, error: unknown): void => {
    const code = codeOf(error);
    log.error({ plugin, during, err: error }, "plugin fault");
    if (during === "kernel:fault") return;
    // An unknown error may quote what it was given: its words stay in the log.
    const message = code === "internal" ? "internal error" : (error as Error).message;
    bus.emit("kernel:fault", { plugin, during, code, message });
  };
  const callOff = (): void => void kernel.stop();

  async function open(plugin: AnyPlugin, own: Stage): Promise<void> {
    for (const need of Object.keys(plugin.needs ?? {})) {
      if (!Object.hasOwn(services, need)) throw kernelErrors.KERNEL_NEED_UNMET(plugin.name, need);
    }
    const offers = ((await plugin.start(createScope(plugin, own))) ?? {}) as Record<
      string,
      unknown
    >;
    if (!isLive(own, plugin.name)) return;
    for (const service of Object.keys(offers)) {
      if (Object.hasOwn(services, service))
        throw kernelErrors.KERNEL_SERVICE_TAKEN(plugin.name, service);
      services[service] = offers[service];
    }
    phases.set(plugin.name, { phase: "started" });
  }

  async function startAll(): Promise<void> {
    let current = "";
    const abandoned = new Promise<never>((_, reject) => {
      giveUp = () => {
        log.error(
          { plugin: current },
          `"${current}" did not finish starting in time and is left as it is`,
        );
        reject(kernelErrors.KERNEL_START_ABORTED());
      };
    });
    const late = abandoned.catch(silent);
    try {
      checkRoster(roster);
      phases.clear();
      const lifecycle = createLifecycle(clock);
      const configuration = createConfiguration(roster, options.config ?? {}, fault);
      const shared = { bus, clock, log, random, lifecycle, configuration, services, late, fault };
      const mine: Stage = (stage = {
        ...shared,
        undo: new Set(),
        ready: [],
        failed: new Set(),
        live: true,
      });
      /** What fails in an optional plugin costs the others nothing. */
      const take = async (
        { name, optional }: AnyPlugin,
        run: () => Promise<void>,
      ): Promise<void> => {
        current = name;
        if (calledOff) throw kernelErrors.KERNEL_START_ABORTED();
        const limit = createDeadline(clock, 10_000);
        const late = (): Promise<never> => Promise.reject(kernelErrors.KERNEL_START_SLOW(name));
        try {
          await Promise.race([run(), abandoned, ...(optional ? [limit.passed.then(late)] : [])]);
        } catch (error) {
          if (!optional || calledOff) throw error;
          mine.failed.add(name);
          phases.set(name, {
            phase: "failed",
            reason: error instanceof Error ? error.message : String(error),
          });
          fault(name, "start", error);
          await undoSteps(mine, createDeadline(clock, 10_000), name);
        } finally {
          limit.cancel();
        }
      };
      for (const plugin of roster) await take(plugin, () => open(plugin, mine));
      if (!roster.some(({ drives }) => drives)) lifecycle.send("accept-credentials");
      // Ready undo steps are added after every start's, so that last-in-first-out runs them first.
      for (const { plugin, step } of mine.ready) {
        await take(plugin, async () => {
          const undo = isLive(mine, plugin.name) && (await step());
          if (undo) keep(mine, plugin.name, undo);
        });
      }
      if (calledOff) throw kernelErrors.KERNEL_START_ABORTED();
      giveUp = silent;
      for (const { name } of roster) if (isLive(mine, name)) phases.set(name, { phase: "ready" });
      ready = true;
      lifecycle.onChange((from, to) => bus.emit("kernel:state-changed", { from, to }));
      bus.emit("kernel:state-changed", { from: null, to: lifecycle.state() });
    } catch (error) {
      await undoAll(deadline ?? createDeadline(clock, 10_000));
      if (!calledOff && current) phases.set(current, { phase: "failed" });
      throw error;
    }
  }

  async function undoAll(limit: Deadline): Promise<void> {
    signal?.removeEventListener("abort", callOff); // it may outlive many kernels
    const own = stage;
    if (!own) return limit.cancel();
    ready = false;
    await undoSteps(own, limit);
    own.live = false;
    own.lifecycle.stop();
    stage = undefined;
    for (const service of Object.keys(services)) delete services[service];
    for (const { name } of roster) phases.set(name, { phase: "stopped" });
  }

  const kernel: Kernel<L> = {
    services: services as ServicesOf<L>,
    state: () => stage?.lifecycle.state() ?? "unconfigured",
    health: () => ({
      live: stage !== undefined,
      ready,
      plugins: roster.map(({ name }) => ({ name, ...(phases.get(name) ?? { phase: "waiting" }) })),
    }),
    on: (type, handler) =>
      bus.on(type as string, handler, (error) => fault("host", type as string, error)),
    async start({ signal: own } = {}) {
      if (starting || stage || stopping) throw kernelErrors.KERNEL_BUSY();
      calledOff = [signal, own].some((each) => each?.aborted);
      for (const each of [signal, own]) each?.addEventListener("abort", callOff);
      await (starting = startAll().finally(() => {
        starting = undefined;
        if (own !== signal) own?.removeEventListener("abort", callOff);
      }));
    },
    async stop({ timeoutMs = 10_000 } = {}) {
      calledOff = true;
      await (stopping ??= (async () => {
        const limit = (deadline = createDeadline(clock, timeoutMs));
        void limit.passed.then(() => giveUp());
        // A start under way sees that it was called off, undoes itself and reports to its own caller.
        if (starting) await starting.catch(silent);
        if (ready) bus.emit("kernel:stop-begun", { timeoutMs });
        await undoAll(limit);
      })().finally(() => {
        stopping = deadline = undefined;
      }));
    },
    [Symbol.asyncDispose]: () => kernel.stop(),
  };
  return kernel;
}
