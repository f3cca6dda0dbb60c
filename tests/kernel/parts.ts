import { expect } from "vitest";
import { codeOf } from "../../kernel/index.ts";
import type { AnyPlugin, Plugin, Scope, Shape } from "../../kernel/index.ts";

type Bare = Plugin<{ emits: Record<never, never> }>;

/** A plugin that does only what a test is about. */
export function plugin(
  name: string,
  start: (scope: Scope<Shape>) => unknown = () => undefined,
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
export async function refusal(attempt: (() => unknown) | Promise<unknown>): Promise<Refusal> {
  try {
    await (typeof attempt === "function" ? attempt() : attempt);
  } catch (error) {
    return error as Refusal;
  }
  return expect.fail("nothing was refused");
}

export async function codeFrom(attempt: (() => unknown) | Promise<unknown>): Promise<string> {
  return codeOf(await refusal(attempt));
}

/** Lets everything that is due in the queue of promises run. */
export const turn = (): Promise<void> => new Promise((done) => setImmediate(done));
