// One plugin during one start of the kernel: its phase, the scope that it may use, what it has
// registered, and its cleanup.
import type { Bus } from "./bus.ts";
import type { ConfigurationStore } from "./configuration.ts";
import type { Share } from "./deadline.ts";
import { noop } from "./defaults.ts";
import { kernelErrors } from "./errors.ts";
import {
  viewOf,
  type Awaitable,
  type Clock,
  type LauncherCommand,
  type LauncherState,
  type Log,
  type LogLine,
  type Release,
  type Scope,
} from "./plugin.ts";
import type { AnyPlugin } from "./wiring.ts";

/** Dependencies shared by all plugins of one start. */
export interface KernelContext {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: (bytes: number) => Uint8Array;
  readonly lifecycle: { state(): LauncherState; send(command: LauncherCommand): boolean };
  readonly configuration: ConfigurationStore;
  readonly services: Record<string, unknown>;
  /**
   * Time limit for the start of a plugin, and again for its ready steps; 10 s if it is optional.
   */
  readonly startTimeoutMs: number;
  reportFault(plugin: string, during: string, error: unknown): void;
}

export type PluginPhase =
  | "waiting"
  | "starting"
  | "started"
  | "ready"
  | "stopping"
  | "stopped"
  | "failed";

type CleanupStep = () => Awaitable<unknown>;
type ReadyStep = () => Awaitable<void | (() => Awaitable<void>)>;
/**
 * When a step was registered. All `ready` steps are cleaned up before any `start` step, so
 * accepting stops first.
 */
type CleanupPart = "start" | "ready";

export class PluginRun {
  phase: PluginPhase = "waiting";
  /** The error that made it fail. */
  reason: unknown;
  readonly readySteps: ReadyStep[] = [];
  readonly plugin: AnyPlugin;
  readonly context: KernelContext;
  /** False after its cleanup: whatever it registers then is cleaned up immediately. */
  canRegister = true;
  /** In order of registration. A released entry is removed. */
  private readonly steps = {
    start: new Set<{ readonly step: CleanupStep }>(),
    ready: new Set<{ readonly step: CleanupStep }>(),
  };
  private part: CleanupPart = "start";
  private registrations = 0;
  private readonly offered: string[] = [];
  /** Its start or its ready steps, while they are under way. */
  private pending: Promise<void> | undefined;
  /** Cleanup steps that have begun and not ended, and whether there was time for them. */
  private readonly running = new Map<Promise<void>, boolean>();
  private hasTime = true;

  constructor(plugin: AnyPlugin, context: KernelContext) {
    this.plugin = plugin;
    this.context = context;
  }

  /** Rejects with what the plugin throws, KERNEL_NEED_UNMET or KERNEL_SERVICE_TAKEN. */
  start(): Promise<void> {
    const { plugin, context } = this;
    const { services } = context;
    return this.track("starting", "started", async () => {
      for (const need of Object.keys(plugin.needs ?? {})) {
        if (!Object.hasOwn(services, need))
          throw kernelErrors.KERNEL_NEED_UNMET(plugin.name, need, Object.keys(services));
      }
      const offers: object = (await plugin.start(createScope(this))) ?? {};
      if (!this.canRegister) return;
      for (const [service, value] of Object.entries(offers)) {
        if (Object.hasOwn(services, service))
          throw kernelErrors.KERNEL_SERVICE_TAKEN(plugin.name, service);
        services[service] = value;
        this.offered.push(service);
      }
    });
  }

  runReadySteps(): Promise<void> {
    this.part = "ready";
    return this.track("started", "ready", async () => {
      for (const step of this.readySteps) {
        if (this.phase !== "started") return;
        const cleanup = await step();
        if (cleanup) this.registerCleanup(cleanup);
      }
    });
  }

  /** Marks it as failed. A start that is still under way is not waited for any longer. */
  fail(error: unknown): void {
    this.phase = "failed";
    this.reason = error;
    this.canRegister = false;
    this.pending = undefined;
  }

  /** Remembers how to undo something, until it is released. */
  registerCleanup(step: CleanupStep): Release {
    const entry = { step };
    const steps = this.steps[this.part];
    this.registrations += 1;
    if (this.canRegister) steps.add(entry);
    else void this.runStep(step);
    return () => void steps.delete(entry);
  }

  /**
   * Runs the cleanup steps of one part, last in first out. When the share expires, the steps that
   * remain are begun without waiting for the previous one. Never rejects.
   */
  async cleanUp(part: CleanupPart, { ms, expired }: Share): Promise<void> {
    if (this.phase === "waiting") return;
    if (this.phase !== "failed") this.phase = "stopping";
    this.hasTime = ms > 0;
    if (this.pending) await Promise.race([this.pending.catch(noop), expired]);
    if (this.pending) {
      this.pending = undefined;
      this.canRegister = false;
      this.logLeft("did not finish starting in time");
    }
    await this.runSteps("ready", expired);
    if (part === "start") {
      await this.runSteps("start", expired);
      this.canRegister = false;
      for (const service of this.offered.splice(0)) delete this.context.services[service];
      if (this.phase === "stopping") this.phase = "stopped";
    }
  }

  /** Resolves when every cleanup step that has begun has ended. */
  async settled(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running.keys());
  }

  /** Ends the cleanup; logs the plugin's name if a step is still running. */
  leave(): void {
    this.canRegister = false;
    if (this.running.size === 0) return;
    const hadTime = [...this.running.values()].includes(true);
    this.logLeft(hadTime ? "did not stop in time" : "had no time left to stop");
  }

  /**
   * The phase does not change to `after` if the plugin has failed or begun to stop in the meantime.
   */
  private async track(
    during: PluginPhase,
    after: PluginPhase,
    work: () => Promise<void>,
  ): Promise<void> {
    this.phase = during;
    const pending = work();
    this.pending = pending;
    try {
      await pending;
    } finally {
      if (this.pending === pending) this.pending = undefined;
    }
    if (this.phase === during) this.phase = after;
  }

  private async runSteps(part: CleanupPart, expired: Promise<void>): Promise<void> {
    this.part = part;
    const steps = this.steps[part];
    while (steps.size > 0) {
      const { registrations } = this;
      for (const entry of [...steps].reverse()) {
        if (steps.delete(entry)) await Promise.race([this.runStep(entry.step), expired]);
        // Steps that a step registers are cleaned up next.
        if (this.registrations !== registrations) break;
      }
    }
  }

  private runStep(step: CleanupStep): Promise<void> {
    const { plugin, context, running } = this;
    const ended: Promise<void> = Promise.resolve()
      .then(step)
      .catch((error: unknown) => context.reportFault(plugin.name, "stop", error))
      .then(() => void running.delete(ended));
    running.set(ended, this.hasTime);
    return ended;
  }

  private logLeft(what: string): void {
    const { name } = this.plugin;
    this.context.log.error({ plugin: name }, `"${name}" ${what} and is left as it is`);
  }
}

type Services = Readonly<Record<string, unknown>>;

/** A service as one plugin sees it. */
const toView = (service: unknown, plugin: string): unknown =>
  (service as { [viewOf]?: (plugin: string) => unknown } | null)?.[viewOf]?.(plugin) ?? service;

const viewsOf = (services: Services, plugin: string): Services =>
  Object.fromEntries(Object.entries(services).map(([name, all]) => [name, toView(all, plugin)]));

const pick = (services: Services, names: object): Services =>
  Object.fromEntries(Object.keys(names).map((name) => [name, services[name]]));

/**
 * The services that a plugin declares, or all if it states its needs in its type only. Reading
 * another one throws. A declared one is an own property, which costs nothing.
 */
function selectNeeds({ name, needs }: AnyPlugin, services: Services): Services {
  const rejectOthers: ProxyHandler<object> = {
    get(_, need) {
      if (typeof need === "symbol" || need === "toJSON") return undefined;
      throw kernelErrors.KERNEL_NEED_UNMET(name, need, Object.keys(services));
    },
  };
  const selected = needs ? pick(services, needs) : services;
  return Object.assign(Object.create(new Proxy({}, rejectOthers)), selected) as Services;
}

/** The methods do not use `this`, so that plugins can destructure the scope. */
function createScope(run: PluginRun): Scope<any> {
  const { plugin, context } = run;
  const { bus, clock, lifecycle, configuration, reportFault } = context;
  const { name } = plugin;
  const services = viewsOf(context.services, name);
  const send = (command: LauncherCommand): boolean => {
    if (plugin.drives !== true) throw kernelErrors.KERNEL_NOT_DRIVER(name);
    return run.canRegister && lifecycle.send(command);
  };
  // Object.assign takes half the time of a spread after a property.
  const line =
    (level: keyof Log): LogLine =>
    (fields, text) =>
      context.log[level](Object.assign({ plugin: name }, fields), text);

  return {
    needs: selectNeeds(plugin, services),
    uses: plugin.uses ? pick(services, plugin.uses) : services,
    log: { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") },
    clock,
    lifecycle: { state: lifecycle.state, send } as Scope<any>["lifecycle"],
    configuration: (plugin.configures === true ? configuration : undefined) as never,
    random: context.random,
    config: () => configuration.value(name) as never,
    onConfig: (listener) => configuration.onConfig(name, listener),
    on(type, handler) {
      if (!run.canRegister) return;
      run.registerCleanup(bus.on(type, handler, (error) => reportFault(name, type, error)));
    },
    emit(type: string, payload: object | (() => object)) {
      if (!type.startsWith(`${name}:`)) throw kernelErrors.KERNEL_FOREIGN_FACT(name, type);
      bus.emit(type, payload);
    },
    after(ms, callback) {
      if (!run.canRegister) return noop;
      const id = clock.setTimeout(() => {
        forget();
        try {
          callback();
        } catch (error) {
          reportFault(name, "timer", error);
        }
      }, ms);
      const forget = run.registerCleanup(() => clock.clearTimeout(id));
      return () => {
        forget();
        clock.clearTimeout(id);
      };
    },
    onReady: (step) => void run.readySteps.push(step),
    onStop: (step) => void run.registerCleanup(step),
  };
}
