/* Life of a plugin
 *  1. config     its section is validated; unknown keys and `token` keys never reach it
 *  2. start      in list order, awaited; everything in `needs` is already offered by an earlier plugin
 *  3. ready      steps given to `onReady` run after every start, in list order, awaited; a failure fails the start
 *  4. running    facts arrive one at a time in one order for the whole kernel; a throw becomes kernel:fault
 *  5. stop       undo of ready steps first, then of starts; last in first out, awaited, each guarded */

export type Awaitable<T> = T | Promise<T>;
export type Release = () => void;
export type EventMap = Record<string, object>;

export type LauncherState = "unconfigured" | "setup" | "running" | "rotating";
export type LauncherCommand =
  | "accept-credentials"
  | "begin-setup"
  | "finish-setup"
  | "begin-rotation"
  | "finish-rotation"
  | "abandon-rotation";

/** What a plugin is, as one type; every key is optional. */
export interface Shape {
  /** What its section parses to. */
  readonly config?: unknown;
  /** Facts only it may announce: `<name>:<past-tense>`. */
  readonly emits?: EventMap;
  /** Facts of others: a `Pick<>` of their maps. */
  readonly hears?: EventMap;
  /** Questions it answers. */
  readonly offers?: Record<string, unknown>;
  /** Questions it asks. */
  readonly needs?: Record<string, unknown>;
  /** Questions it asks when somebody answers them. */
  readonly uses?: Record<string, unknown>;
  /** Sends lifecycle commands: token-store, nobody else. */
  readonly drives?: true;
  /** Changes configuration at run time: settings, nobody else. */
  readonly configures?: true;
}

export type Part<S, K extends keyof Shape, Otherwise> =
  S extends Record<K, infer V> ? V : Otherwise;
export type None = Record<never, never>;

/** Standard Schema with JSON Schema: zod 4 objects fit as they are. */
export interface Schema<T> {
  readonly "~standard": {
    validate(raw: unknown): unknown;
    readonly jsonSchema: { input(options: { target: "draft-07" }): object };
    readonly types?: { readonly input: unknown; readonly output: T } | undefined;
  };
}

/** A place in the configuration: `channels.pico`, `launcher`. Several plugins may share one. */
export interface Section<T> {
  readonly section: string;
  readonly schema: Schema<T>;
}

interface Base<S extends Shape> {
  readonly name: string;
  /** Major version of this contract; another number is refused at start. */
  readonly api: 1;
  /** Never set: carries the type. */
  readonly shape?: S;
  readonly drives?: Part<S, "drives", never>;
  readonly configures?: Part<S, "configures", never>;
  start(scope: Scope<S>): Awaitable<Part<S, "offers", void>>;
}

/** A forgotten name does not compile. */
type Listed<S, K extends "needs" | "uses"> =
  S extends Record<K, infer V>
    ? { readonly [P in K]: { readonly [N in keyof V]: true } }
    : { readonly [P in K]?: never };

export type Plugin<S extends Shape = Shape> = Base<S> &
  Listed<S, "needs"> &
  Listed<S, "uses"> &
  (S extends { drives: true } ? { readonly drives: true } : unknown) &
  (S extends { configures: true } ? { readonly configures: true } : unknown) &
  (S extends { config: infer C } ? { readonly config: Section<C> } : { readonly config?: never });

export type Audible<S> = Part<S, "hears", None> & Part<S, "emits", None> & KernelEvents;

/** All a plugin may touch; everything registered here is undone when the plugin stops. */
export interface Scope<S extends Shape> {
  readonly needs: Part<S, "needs", None>;
  readonly uses: Partial<Part<S, "uses", None>>;
  readonly log: Log;
  readonly clock: Clock;
  readonly lifecycle: { state(): LauncherState } & (S extends { drives: true }
    ? { /** `false`: ignored in the present state. */ send(command: LauncherCommand): boolean }
    : unknown);
  readonly configuration: S extends { configures: true } ? Configuration : undefined;
  random(bytes: number): Uint8Array;
  /** Always the current, validated value. */
  config(): Part<S, "config", undefined>;
  /** A throw refuses the change: every plugin of the section keeps the old value. `ignored`: fields without effect in
   *  this deployment, not even after a restart. */
  onConfig(
    apply: (
      next: Part<S, "config", undefined>,
      before: Part<S, "config", undefined>,
    ) => Awaitable<{ afterRestart?: string[]; ignored?: string[] } | void>,
  ): void;
  on<K extends keyof Audible<S>>(type: K, handler: (fact: Audible<S>[K]) => Awaitable<void>): void;
  /** A function is called only when somebody listens. */
  emit<K extends keyof Part<S, "emits", None>>(
    type: K,
    fact: Part<S, "emits", None>[K] | (() => Part<S, "emits", None>[K]),
  ): void;
  /** A timer (milliseconds) that cannot outlive the plugin. */
  after(ms: number, run: () => void): Release;
  /** The returned undo runs before any other undo: accepting stops first. */
  onReady(step: () => Awaitable<void | (() => Awaitable<void>)>): void;
  onStop(undo: () => Awaitable<void>): void;
}

export interface Configuration {
  describe(): { section: string; schema: object; value: unknown }[];
  /** Gives `raw` to every plugin of the section, or to none. Names the fields that act now and those that wait. */
  apply(section: string, raw: unknown): Promise<{ now: string[]; afterRestart: string[] }>;
}

/** XState's `Clock` plus `now()` in Unix milliseconds; XState's `SimulatedClock` fits. */
export interface Clock {
  now(): number;
  /** Milliseconds since some moment, which setting the clock does not move; where it is absent, `now` serves. */
  monotonic?(): number;
  setTimeout(run: () => void, ms: number): unknown;
  clearTimeout(id: unknown): void;
}

export type LogLine = (fields: object, text: string) => void;
/** A pino logger fits. */
export interface Log {
  readonly debug: LogLine;
  readonly info: LogLine;
  readonly warn: LogLine;
  readonly error: LogLine;
}

export type KernelEvents = {
  /** Once when everything is ready (`from: null`), then at every transition. */
  "kernel:state-changed": { from: LauncherState | null; to: LauncherState };
  /** A stop of what was ready: everything still works, and has this long in all. */
  "kernel:stop-begun": { timeoutMs: number };
  /** A handler, timer or undo step threw. */
  "kernel:fault": { plugin: string; during: string; code: string; message: string };
};
