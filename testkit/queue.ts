import { testingErrors } from "./errors.ts";

export const defaultTimeoutMs = 10_000;

/** Waits in real time, which a stopped clock does not stop; `what` names the wait in the rejection. */
export async function withTimeout<T>(ms: number, what: string, fact: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    // A process that was held up hears first what came meanwhile.
    timer = setTimeout(() => setImmediate(() => reject(testingErrors.TEST_WAITED(what, ms))), ms);
  });
  try {
    return await Promise.race([fact, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** What came and was not asked for yet. */
export interface Queue<T> {
  push(item: T): void;
  /** The oldest one that fits, when it comes; those before it stay. Rejects `TEST_WAITED` or the end's reason. */
  next(what: string, fits?: (item: T) => boolean): Promise<T>;
  /** Nothing comes any more: waits reject with what `reason` makes of their name. */
  end(reason: (what: string) => Error): void;
  readonly waiting: readonly T[];
}

export function createQueue<T>(patienceMs = defaultTimeoutMs): Queue<T> {
  interface Wait {
    readonly what: string;
    fits(item: T): boolean;
    take(item: T): void;
    fail(error: Error): void;
  }
  const items: T[] = [];
  const waits = new Set<Wait>();
  let ended: ((what: string) => Error) | undefined;

  function wait(what: string, fits: (item: T) => boolean): Promise<T> {
    let own: Wait;
    const come = new Promise<T>((take, fail) => void waits.add((own = { what, fits, take, fail })));
    return withTimeout(patienceMs, what, come).finally(() => waits.delete(own));
  }

  return {
    waiting: items,
    push(item) {
      const first = [...waits].find((each) => each.fits(item));
      if (!first) return void items.push(item);
      waits.delete(first);
      first.take(item);
    },
    async next(what, fits = () => true) {
      const at = items.findIndex(fits);
      if (at !== -1) return items.splice(at, 1)[0]!;
      if (ended) throw ended(what);
      return wait(what, fits);
    },
    end(reason) {
      ended = reason;
      for (const each of waits) each.fail(reason(each.what));
      waits.clear();
    },
  };
}
