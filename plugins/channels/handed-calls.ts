/** Hands out the promises of calls, so that one that no code awaits does not end the process. */
import { codeOf, type Log } from "../../kernel/index.ts";
import { attempt, observe } from "../../lib/observed-promise.ts";

/** Logs the failure of a call that no code awaits. A stop is not a failure. */
export function logUnobserved(
  log: Pick<Log, "error">,
  error: unknown,
  fields: { readonly call: string; readonly [field: string]: unknown },
): void {
  const code = codeOf(error);
  if (code === "stopped") return;
  const text = "a call has failed, and no code awaits it: await it, or catch its error";
  const cause = code === "internal" ? { err: error } : { code, why: (error as Error).message };
  log.error({ ...fields, ...cause }, text);
}

type HandOut = <T>(call: string, to: unknown, run: () => Promise<T>) => Promise<T>;

/** @returns The function that hands out the calls of a service. */
export function createHandOut(log: Pick<Log, "error">): HandOut {
  return (call, to, run) =>
    observe(attempt(run), (error) => {
      const { channel, session } = Object(to) as Record<string, unknown>;
      logUnobserved(log, error, { call, channel, session });
    });
}

/** The calls of the application about one message. */
export class HandedCalls {
  private readonly unobserved: (call: string, error: unknown) => void;
  private readonly idle: () => void;
  private open = 0;

  /**
   * @param unobserved - Runs for each failure that no code awaits.
   * @param idle - Runs when no call is open any more, after `unobserved`.
   */
  constructor(unobserved: (call: string, error: unknown) => void, idle: () => void) {
    this.unobserved = unobserved;
    this.idle = idle;
  }

  /** True while a call has not settled, or it is not known whether its failure is awaited. */
  get areOpen(): boolean {
    return this.open > 0;
  }

  /** Hands out a call that belongs to the answer: the answer does not end before it. */
  handOut<T>(call: string, run: () => Promise<T>): Promise<T> {
    const promise = attempt(run);
    this.open += 1;
    const observed = this.watch(call, promise);
    promise.then(this.closed, () => void setImmediate(this.closed));
    return observed;
  }

  /** Hands out a call that the answer does not wait for. */
  watch<T>(call: string, promise: Promise<T>): Promise<T> {
    return observe(promise, (error) => this.unobserved(call, error));
  }

  private readonly closed = (): void => {
    this.open -= 1;
    if (this.open === 0) this.idle();
  };
}
