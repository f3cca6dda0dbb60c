export { checkPlugins, createKernel, type Kernel, type KernelOptions } from "./kernel.ts";
export { hint } from "./suggest.ts";
export { DoorwardError, codeOf, errorTable, type ErrorContext } from "./errors.ts";
export type {
  Audible, Awaitable, Clock, Configuration, EventMap, KernelEvents, LauncherCommand, LauncherState, Log, LogLine,
  Part, Plugin, Release, Schema, Scope, Section, Shape,
} from "./plugin.ts";
export type { AnyPlugin, FactsOf, ServicesOf, Wired } from "./wiring.ts";
