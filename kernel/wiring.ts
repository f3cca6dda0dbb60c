import type { KernelEvents, None, Part, Plugin } from "./plugin.ts";

export type AnyPlugin = Pick<Plugin<any>, "name" | "api" | "shape" | "start"> & {
  readonly needs?: object | undefined;
  readonly uses?: object | undefined;
  readonly config?: object | undefined;
  readonly drives?: boolean | undefined;
  readonly configures?: boolean | undefined;
  /** Only for plugins known at run time: its failure to start leaves the others running. */
  readonly optional?: boolean | undefined;
};

type ShapeOf<P> = P extends { readonly shape?: infer S } ? NonNullable<S> : never;
type Keys<P, K extends "needs" | "offers" | "emits" | "hears"> = keyof Part<ShapeOf<P>, K, None> &
  string;
type Emitted<L extends readonly unknown[]> =
  | { [I in keyof L]: Keys<L[I], "emits"> }[number]
  | keyof KernelEvents;
type Heard<L extends readonly unknown[]> = { [I in keyof L]: Keys<L[I], "hears"> }[number];

type Ordered<L extends readonly unknown[], Have = never> = L extends readonly [
  infer Head,
  ...infer Rest,
]
  ? [Exclude<Keys<Head, "needs">, Have>] extends [never]
    ? Ordered<Rest, Have | Keys<Head, "offers">>
    : {
        readonly [
          K in Exclude<Keys<Head, "needs">, Have> & string as `no earlier plugin offers ${K}`
        ]: never;
      }
  : unknown;

/** `unknown` when every need is offered by an earlier plugin and every fact heard has an owner; else it names what is
 *  missing. */
export type Wired<L extends readonly unknown[]> = Ordered<L> &
  ([Exclude<Heard<L>, Emitted<L>>] extends [never]
    ? unknown
    : { readonly [K in Exclude<Heard<L>, Emitted<L>> & string as `no plugin emits ${K}`]: never });

type Merge<U> = (U extends unknown ? (u: U) => void : never) extends (m: infer I) => void
  ? I
  : never;
export type FactsOf<L extends readonly unknown[]> = KernelEvents &
  Merge<{ [I in keyof L]: Part<ShapeOf<L[I]>, "emits", None> }[number]>;
export type ServicesOf<L extends readonly unknown[]> = None &
  Merge<{ [I in keyof L]: Part<ShapeOf<L[I]>, "offers", None> }[number]>;
