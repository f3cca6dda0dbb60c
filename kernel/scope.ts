import type { Bus } from "./bus.ts";
import type { Configured } from "./configuration.ts";
import { kernelErrors } from "./errors.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Awaitable, Clock, LauncherCommand, Log, LogLine, Release, Scope } from "./plugin.ts";
import type { AnyPlugin } from "./wiring.ts";

export interface Undo {
  readonly plugin: string;
  readonly step: () => Awaitable<unknown>;
}

/** What the scopes of one start share. */
export interface Stage {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: (bytes: number) => Uint8Array;
  readonly lifecycle: Lifecycle;
  readonly configuration: Configured;
  readonly services: Record<string, unknown>;
  /** Insertion order is registration order; entries leave when they have run or lost their object. */
  readonly undo: Set<Undo>;
  readonly ready: {
    readonly plugin: AnyPlugin;
    readonly step: Parameters<Scope<any>["onReady"]>[0];
  }[];
  /** The time of a stop that came before the start was over has passed. */
  readonly late: Promise<void>;
  /** Optional plugins that could not start. */
  readonly failed: Set<string>;
  /** False when everything is undone: nothing new can be registered. */
  live: boolean;
  fault(plugin: string, during: string, error: unknown): void;
}

/** Whether a plugin may still register something. */
export const isLive = ({ live, failed }: Stage, plugin: string): boolean =>
  live && !failed.has(plugin);

/** Remembers how to undo something; the answer forgets it. */
export function keep(stage: Stage, plugin: string, step: () => Awaitable<unknown>): Release {
  const entry: Undo = { plugin, step };
  if (isLive(stage, plugin)) stage.undo.add(entry);
  // A start that finishes after the kernel has stopped, or has given it up, leaves nothing behind.
  else
    void Promise.resolve()
      .then(step)
      .catch((error: unknown) => stage.fault(plugin, "stop", error));
  return () => void stage.undo.delete(entry);
}

/** One plugin's scope. Its methods do not use `this`. */
export function createScope(plugin: AnyPlugin, stage: Stage): Scope<any> {
  const { name } = plugin;
  const { bus, clock } = stage;
  const pick = (names: object | undefined): Record<string, unknown> =>
    Object.fromEntries(
      Object.keys(names ?? {}).map((service) => [service, stage.services[service]]),
    );
  const send = (command: LauncherCommand): boolean => {
    if (plugin.drives !== true) throw kernelErrors.KERNEL_NOT_DRIVER(name);
    return stage.lifecycle.send(command);
  };
  const line =
    (level: keyof Log): LogLine =>
    (fields, text) =>
      stage.log[level]({ plugin: name, ...fields }, text);

  return {
    needs: pick(plugin.needs),
    uses: pick(plugin.uses),
    log: { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") },
    clock,
    lifecycle: { state: stage.lifecycle.state, send } as Scope<any>["lifecycle"],
    configuration: (plugin.configures === true ? stage.configuration : undefined) as never,
    random: stage.random,
    config: () => stage.configuration.value(name) as never,
    onConfig: (apply) => stage.configuration.onConfig(name, apply),
    on(type, handler) {
      if (isLive(stage, name))
        keep(
          stage,
          name,
          bus.on(type, handler, (error) => stage.fault(name, type, error)),
        );
    },
    emit(type: string, fact: object | (() => object)) {
      if (!type.startsWith(`${name}:`)) throw kernelErrors.KERNEL_FOREIGN_FACT(name, type);
      bus.emit(type, fact);
    },
    after(ms, run) {
      if (!isLive(stage, name)) return () => undefined;
      const id = clock.setTimeout(() => {
        forget();
        try {
          run();
        } catch (error) {
          stage.fault(name, "timer", error);
        }
      }, ms);
      const forget = keep(stage, name, () => clock.clearTimeout(id));
      return () => {
        forget();
        clock.clearTimeout(id);
      };
    },
    onReady: (step) => void stage.ready.push({ plugin, step }),
    onStop: (step) => void keep(stage, name, step),
  };
}
