// Promises for code of other authors: a rejection that no code observes does not end the process.

const none = (): void => undefined;

/** A promise that knows whether its rejection is observed. */
class ObservedPromise<T> extends Promise<T> {
  /** Makes `then` return an ordinary promise, which it may hand out in turn. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }
  isObserved = false;
  report: (error: unknown) => void = none;

  /** `await` calls it, too. A rejection that the caller passes on is reported in its place. */
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isObserved = true;
    const next = super.then(onFulfilled, onRejected);
    return typeof onRejected === "function" ? next : observe(next, this.report);
  }

  override finally(onFinally?: (() => void) | null): Promise<T> {
    return observe(super.finally(onFinally), this.report);
  }

  markHandled(): void {
    super.then(undefined, none);
  }
}

/**
 * Hands out a promise. If it rejects, and no code has called `then` one turn of the loop later,
 * `report` receives the error. The process goes on.
 */
export function observe<T>(promise: Promise<T>, report: (error: unknown) => void): Promise<T> {
  const observed = new ObservedPromise<T>((resolve, reject) => {
    promise.then(resolve, (error: unknown) => {
      reject(error);
      observed.markHandled();
      setImmediate(() => {
        if (!observed.isObserved) report(error);
      });
    });
  });
  observed.report = report;
  return observed;
}

/** @returns The promise of the call, which rejects with what the call throws. */
export function attempt<T>(call: () => Promise<T>): Promise<T> {
  try {
    return call();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** @returns The service, which hands out the promises of the named methods with {@link observe}. */
export function observeCalls<T extends object>(
  service: T,
  names: readonly (keyof T & string)[],
  report: (call: string, error: unknown) => void,
): T {
  type Method = (...given: readonly unknown[]) => Promise<unknown>;
  const methods = names.map((name) => {
    const method = (service[name] as Method).bind(service);
    const handed: Method = (...given) =>
      observe(
        attempt(() => method(...given)),
        (error) => report(name, error),
      );
    return [name, handed] as const;
  });
  return Object.assign(Object.create(service) as T, Object.fromEntries(methods));
}
