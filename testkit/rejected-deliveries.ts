// Detects promises of `deliver()` that a channel leaves unhandled when they reject.
import { codeOf } from "../kernel/index.ts";

/** Reason of a rejected delivery -> what to call if it is unhandled. */
const reports = new WeakMap<object, () => void>();
let running = 0;
/** Listeners of the test runner. */
let others: readonly NodeJS.UnhandledRejectionListener[] = [];

/** Other rejections reach the listeners of the runner, or end the process as usual. */
const listener: NodeJS.UnhandledRejectionListener = (reason, promise) => {
  const report = typeof reason === "object" && reason !== null ? reports.get(reason) : undefined;
  if (report) return report();
  if (others.length === 0) throw reason;
  for (const other of others) other.call(process, reason, promise);
};

/**
 * Watches the process until `end`; runs may overlap. Without this, the process or the test runner
 * reports the error of the application and does not name the mistake.
 */
export function watchDeliveries() {
  let code: string | undefined;
  if (running++ === 0) {
    others = process.listeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection").on("unhandledRejection", listener);
  }
  return {
    /** @returns The promise, whose reason is recognised if nothing handles it. */
    watch<T>(delivery: Promise<T>): Promise<T> {
      delivery.catch((error: unknown) => {
        if (typeof error !== "object" || error === null) return;
        reports.set(error, () => void (code ??= codeOf(error)));
      });
      // An ordinary promise, whose rejection is unhandled if the channel does not handle it.
      return new Promise((resolve, reject) => void delivery.then(resolve, reject));
    },
    /** @returns A sentence without a period if a rejection was unhandled. */
    problem: () =>
      code === undefined
        ? undefined
        : `the promise of deliver() was rejected with "${code}" and not handled; write ` +
          "channel.deliver(…).catch((error) => …) and send the code of the error to the peer",
    end(): void {
      if (--running > 0) return;
      process.off("unhandledRejection", listener);
      for (const other of others) process.on("unhandledRejection", other);
    },
  };
}
