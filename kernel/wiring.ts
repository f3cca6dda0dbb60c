// Compile-time checks of a plugin list. Each mistake appears as a missing property whose name is a
// sentence.
import type { EmptyMap, KernelEvents, Plugin, ShapePart, UnionToIntersection } from "./plugin.ts";

/** Any plugin, whatever its shape. */
export type AnyPlugin = Pick<Plugin<any>, "name" | "api" | "shape" | "start"> & {
  readonly needs?: object | undefined;
  readonly uses?: object | undefined;
  readonly config?: object | undefined;
  readonly drives?: boolean | undefined;
  readonly configures?: boolean | undefined;
  /** Only for plugins known at run time: if it fails to start, the others run without it. */
  readonly optional?: boolean | undefined;
};

type ShapeOf<P> = P extends { readonly shape?: infer S } ? NonNullable<S> : never;
type PartOf<P, K extends "needs" | "uses" | "offers" | "emits" | "listens" | "section"> = ShapePart<
  ShapeOf<P>,
  K,
  EmptyMap
>;
type KeysOf<P, K extends "needs" | "uses" | "offers" | "listens"> = keyof PartOf<P, K> & string;

/** Names that both maps have, if the type in `Have` does not fit the one in `Wanted`. */
type Mismatches<Wanted, Have> = {
  [K in keyof Wanted & keyof Have]: [Have[K]] extends [Wanted[K]] ? never : K;
}[keyof Wanted & keyof Have] &
  string;

type ServiceMistakes<P, Offered, Used> =
  | `no earlier plugin offers ${Exclude<KeysOf<P, "needs">, keyof Offered>}`
  | `${Mismatches<PartOf<P, "needs">, Offered>} is needed with another type than is offered`
  | `${Mismatches<PartOf<P, "uses">, Offered>} is used with another type than is offered`
  | `two plugins offer ${KeysOf<P, "offers"> & keyof Offered}`
  | `the plugin that offers ${KeysOf<P, "offers"> & Used} must come before those that use it`;
type CheckOrder<L extends readonly unknown[], Have = EmptyMap, Used = never> = L extends readonly [
  infer Head,
  ...infer Rest,
]
  ? [ServiceMistakes<Head, Have, Used>] extends [never]
    ? CheckOrder<Rest, Have & PartOf<Head, "offers">, Used | KeysOf<Head, "uses">>
    : ServiceMistakes<Head, Have, Used>
  : never;

type EventMistakes<P, Emitted> =
  | `no plugin emits ${Exclude<KeysOf<P, "listens">, keyof Emitted>}`
  | `${Mismatches<PartOf<P, "listens">, Emitted>} has another payload where it is emitted`;
type CheckEvents<L extends readonly unknown[]> = {
  [I in keyof L]: EventMistakes<L[I], EventsOf<L>>;
}[number];

type Rejected<Sentence extends string> = [Sentence] extends [never]
  ? unknown
  : { readonly [K in Sentence]: never };

/**
 * `unknown` if every need is offered by an earlier plugin and every event that is listened to is
 * emitted, with the same types. Otherwise its property names say what is wrong.
 */
export type Wired<L extends readonly unknown[]> = number extends L["length"]
  ? Rejected<"the list has no fixed length: write it inside createKernel([...]) or add `as const`">
  : Rejected<CheckOrder<L> | CheckEvents<L>>;

/** All events that the plugins of a list emit, and those of the kernel. */
export type EventsOf<L extends readonly unknown[]> = KernelEvents &
  UnionToIntersection<{ [I in keyof L]: PartOf<L[I], "emits"> }[number]>;
/** All services that the plugins of a list offer. */
export type ServicesOf<L extends readonly unknown[]> = EmptyMap &
  UnionToIntersection<{ [I in keyof L]: PartOf<L[I], "offers"> }[number]>;

type RawSections = Readonly<Record<string, unknown>>;
type SectionsOf<L extends readonly unknown[]> = UnionToIntersection<
  { [I in keyof L]: PartOf<L[I], "section"> }[number]
>;
/** Plugins with settings whose shape does not name their section. */
type Untyped<P> =
  ShapeOf<P> extends { config: unknown }
    ? ShapeOf<P> extends { section: object }
      ? never
      : P
    : never;
/**
 * The sections of a list as users write them, if every plugin with settings names its section.
 * Otherwise any record is accepted.
 */
export type ConfigOf<L extends readonly unknown[]> = number extends L["length"]
  ? RawSections
  : L extends readonly []
    ? RawSections
    : [{ [I in keyof L]: Untyped<L[I]> }[number]] extends [never]
      ? { readonly [S in keyof SectionsOf<L>]?: SectionsOf<L>[S] }
      : RawSections;
