/**
 * The contract between the kernel and its plugins. Life of a plugin:
 *
 *  1. config   its section is validated; unknown keys and `token` keys are rejected
 *  2. start    in list order, awaited, within a time limit; all `needs` have been offered before
 *  3. ready    steps passed to `onReady`, after every start; a failure fails the start
 *  4. running  listeners begin in one order for the whole kernel and are not awaited
 *  5. stop     cleanup of ready steps, then of starts; last in first out, each within its time
 *
 * @module
 */

/** A value or a promise of it. */
export type Awaitable<T> = T | Promise<T>;
/** Ends a registration. */
export type Release = () => void;
/** Payloads by event name. */
export type EventMap = Record<string, object>;

/**
 * Key of a service that gives each plugin a view of its own: a method that the kernel calls with
 * the name of the plugin, for its `needs` and `uses`. `kernel.services` has the service itself.
 *
 * @example
 * import { viewOf } from "doorward";
 * const counters = new Map<string, number>();
 * const count = (owner: string) => () => counters.set(owner, (counters.get(owner) ?? 0) + 1);
 * const service = Object.assign(count("host"), { [viewOf]: count });
 */
export const viewOf: unique symbol = Symbol.for("doorward.viewOf") as never;

/** The state of the launcher, which depends on its token. */
export type LauncherState = "unconfigured" | "setup" | "running" | "rotating";
/** A command that changes the launcher state. */
export type LauncherCommand =
  | "accept-credentials"
  | "begin-setup"
  | "finish-setup"
  | "begin-rotation"
  | "finish-rotation"
  | "abandon-rotation";

/** The state of the kernel. */
export type ProcessState = "stopped" | "starting" | "ready" | "stopping" | "failed";

/** Everything about a plugin, as one type. Every key is optional. */
export interface PluginShape {
  /** The validated value of its section. */
  readonly config?: unknown;
  /**
   * Its section by name, as users write it: `{ launcher: z.input<typeof schema> }`. Types the
   * kernel's `config`.
   */
  readonly section?: Record<string, object>;
  /** Events that only this plugin may emit: `<name>:<past-tense>`. */
  readonly emits?: EventMap;
  /** Events of other plugins: a `Pick<>` of their maps. */
  readonly listens?: EventMap;
  /** Services that it provides. */
  readonly offers?: Record<string, unknown>;
  /** Services that it requires. */
  readonly needs?: Record<string, unknown>;
  /** Services that it uses if an earlier plugin offers them. */
  readonly uses?: Record<string, unknown>;
  /** Sends launcher commands. Only the token store does. */
  readonly drives?: true;
  /** Changes the configuration at run time. Only the settings plugin does. */
  readonly configures?: true;
}

/** The type of one key of a shape, or `Otherwise` if the shape does not have the key. */
export type ShapePart<S, K extends keyof PluginShape, Otherwise> =
  S extends Record<K, infer V> ? V : Otherwise;
/** An object without keys. */
export type EmptyMap = Record<never, never>;
/** Turns `A | B` into `A & B`. */
export type UnionToIntersection<U> = (U extends unknown ? (u: U) => void : never) extends (
  u: infer I,
) => void
  ? I
  : never;

/** Standard Schema with JSON Schema. Zod 4 objects fit as they are. */
export interface Schema<T> {
  /**
   * Version 1 of https://standardschema.dev. `validate` returns `{ value }` or `{ issues }`; a
   * promise is rejected with `KERNEL_BAD_CONFIG`. `jsonSchema.input` describes what users write.
   */
  readonly "~standard": {
    validate(raw: unknown): unknown;
    readonly jsonSchema: { input(options: { target: "draft-07" }): object };
    readonly types?: { readonly input: unknown; readonly output: T } | undefined;
  };
}

/** An object in the configuration: `channels.pico`, `launcher`. Several plugins may share one. */
export interface Section<T, Name extends string = string> {
  /**
   * Path in `config.json` with dots: lower-case words, such as `channels.pico`. `launcher` is
   * `launcher-config.json`.
   */
  readonly section: Name;
  /**
   * Validates an object with the keys that it declares, and fills in its defaults. Keys of other
   * plugins of the section are removed before.
   */
  readonly schema: Schema<T>;
}

/** The plugin name in the names of its events. Two different names intersect to `never`. */
type EventOwner<Name> = [Name] extends [never]
  ? string
  : UnionToIntersection<Name extends `${infer Owner}:${string}` ? Owner : never>;
type SectionName<S> = S extends { section: infer V } ? keyof V & string : string;

interface PluginBase<S extends PluginShape> {
  /** Lower-case words joined by hyphens; the prefix of its events. */
  readonly name: EventOwner<keyof ShapePart<S, "emits", EmptyMap> & string>;
  /** Major version of this contract. Another version is rejected at start. */
  readonly api: 1;
  /** Never set: carries the type. */
  readonly shape?: S;
  readonly drives?: ShapePart<S, "drives", never>;
  readonly configures?: ShapePart<S, "configures", never>;
  start(scope: Scope<S>): Awaitable<ShapePart<S, "offers", void>>;
}

/**
 * The type is enough. A value must name every service; the kernel then checks it before `start`.
 */
type DependencyFlags<S, K extends "needs" | "uses"> =
  S extends Record<K, infer V>
    ? { readonly [P in K]?: { readonly [N in keyof V]: true } }
    : { readonly [P in K]?: never };

/**
 * A plugin of a shape.
 *
 * @example
 * import type { Plugin } from "doorward";
 * const greeter: Plugin<{ listens: { "http:listening": { url: string } } }> = {
 *   name: "greeter",
 *   api: 1,
 *   start: ({ on, log }) => on("http:listening", ({ url }) => log.info({ url }, "hello")),
 * };
 */
export type Plugin<S extends PluginShape = PluginShape> = PluginBase<S> &
  DependencyFlags<S, "needs"> &
  DependencyFlags<S, "uses"> &
  (S extends { drives: true } ? { readonly drives: true } : unknown) &
  (S extends { configures: true } ? { readonly configures: true } : unknown) &
  (S extends { config: infer C }
    ? { readonly config: Section<C, SectionName<S>> }
    : { readonly config?: never });

/** The events that a plugin may listen to: those in its shape, its own, and those of the kernel. */
export type SubscribableEvents<S> = ShapePart<S, "listens", EmptyMap> &
  ShapePart<S, "emits", EmptyMap> &
  KernelEvents;

interface Driver {
  /** @returns False if the command has no meaning in the present state; it is ignored then. */
  send(command: LauncherCommand): boolean;
}

/**
 * Everything that a plugin may use. Whatever it registers here is cleaned up when the plugin stops.
 */
export interface Scope<S extends PluginShape> {
  /**
   * Services of earlier plugins that the shape requires. Reading another one throws
   * `KERNEL_NEED_UNMET`.
   */
  readonly needs: ShapePart<S, "needs", EmptyMap>;
  /** Services that the shape names and an earlier plugin offers; the others are undefined. */
  readonly uses: Partial<ShapePart<S, "uses", EmptyMap>>;
  /** Writes lines with the name of the plugin. Never pass a secret. */
  readonly log: Log;
  /** Reads the time. Use `after` for timers: they end with the plugin. */
  readonly clock: Clock;
  /** The state of the launcher. Only plugins with `drives` in their shape can send commands. */
  readonly lifecycle: { state(): LauncherState } & (S extends { drives: true } ? Driver : unknown);
  /** Reads and changes all sections. Undefined without `configures` in the shape. */
  readonly configuration: S extends { configures: true } ? Configuration : undefined;
  /** Returns this many random bytes from a secure source, unless a test injects another one. */
  random(bytes: number): Uint8Array;
  /** Always the current, validated value. */
  config(): ShapePart<S, "config", undefined>;
  /**
   * A throw rejects the change: every plugin of the section keeps the old value. `afterRestart`:
   * fields that take effect after a restart. `ignored`: fields without effect in this deployment,
   * even after a restart.
   */
  onConfig(
    apply: (
      next: ShapePart<S, "config", undefined>,
      before: ShapePart<S, "config", undefined>,
    ) => Awaitable<{ afterRestart?: string[]; ignored?: string[] } | void>,
  ): void;
  /**
   * Listeners begin in one order for the whole kernel. A returned promise is not awaited, and its
   * rejection is the event `kernel:fault`. Whatever a listener does after its first `await` may
   * overlap with later events. A caller that needs an answer or an order calls a service.
   */
  on<K extends keyof SubscribableEvents<S>>(
    type: K,
    handler: (payload: SubscribableEvents<S>[K]) => Awaitable<void>,
  ): void;
  /** A function is called only if the event has listeners. */
  emit<K extends keyof ShapePart<S, "emits", EmptyMap>>(
    type: K,
    payload: ShapePart<S, "emits", EmptyMap>[K] | (() => ShapePart<S, "emits", EmptyMap>[K]),
  ): void;
  /** Starts a timer (milliseconds) that ends with the plugin. */
  after(ms: number, run: () => void): Release;
  /**
   * Registers a step that runs after every plugin has started. The cleanup that it returns, and
   * what it registers, is run before the cleanup of any start: accepting stops first.
   */
  onReady(step: () => Awaitable<void | (() => Awaitable<void>)>): void;
  /** Registers a cleanup step. Steps run last in first out. */
  onStop(step: () => Awaitable<void>): void;
}

/** Reads and changes the configuration at run time. */
export interface Configuration {
  /** Lists the sections of all plugins: path, JSON Schema (draft-07) and validated value. */
  describe(): { section: string; schema: object; value: unknown }[];
  /**
   * Applies `raw` to every plugin of the section, or to none.
   *
   * @returns The fields that take effect now and those that take effect after a restart.
   * @throws KERNEL_BAD_CONFIG if a value is not valid.
   * @throws KERNEL_UNKNOWN_KEY if a key is not a setting.
   * @throws KERNEL_UNKNOWN_SECTION if no plugin reads the section.
   */
  apply(section: string, raw: unknown): Promise<{ now: string[]; afterRestart: string[] }>;
}

/** XState's `Clock` plus two ways to read the time. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /**
   * Milliseconds since an arbitrary moment. Setting the system time does not change it, so measure
   * durations with it.
   */
  monotonic(): number;
  /**
   * Runs a function once after this many milliseconds.
   *
   * @returns A handle for `clearTimeout`.
   */
  setTimeout(run: () => void, ms: number): unknown;
  /** Cancels a timer. Does nothing if it has run or the handle is unknown. */
  clearTimeout(id: unknown): void;
}

/** Writes a log line with fields and a text. */
export type LogLine = (fields: object, text: string) => void;
/** A pino logger fits. */
export interface Log {
  /** Details for developers of a plugin. The default log drops them. */
  readonly debug: LogLine;
  /** Normal changes of state. The default log drops them. */
  readonly info: LogLine;
  /** Unsafe or unusual, but it works. */
  readonly warn: LogLine;
  /** A failure: something did not happen. A line about an exception has the field `err`. */
  readonly error: LogLine;
}

/** The events of the kernel. */
export type KernelEvents = {
  /** Emitted once when everything is ready (`from: null`), then at every transition. */
  "kernel:state-changed": { from: LauncherState | null; to: LauncherState };
  /**
   * A ready kernel begins to stop. Everything still works, and all plugins together have this many
   * milliseconds.
   */
  "kernel:stop-begun": { timeoutMs: number };
  /**
   * A listener, timer or cleanup step threw, or an optional plugin failed. `plugin`: its name,
   * `host` for listeners of the host. `during`: the event or step. `code` and `message` of the
   * error; `internal` and `internal error` without a code.
   */
  "kernel:fault": { plugin: string; during: string; code: string; message: string };
};
