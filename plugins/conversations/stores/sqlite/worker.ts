// The worker thread that owns the database.
import { parentPort } from "node:worker_threads";
import { loadDriver } from "./driver.ts";
import { StoreFailure, toFailure } from "./failure.ts";
import type { OpenRequest, Reply, Request } from "./protocol.ts";
import { Store } from "./store.ts";

let store: Store | undefined;
let toOpen: OpenRequest | undefined;

function open(request: OpenRequest): unknown {
  toOpen = request;
  const driver = loadDriver();
  if (driver === undefined) throw new StoreFailure("STORE_DRIVER_MISSING", [process.versions.node]);
  const opening = new Store(driver, request);
  const result = opening.open();
  store = opening;
  return result;
}

function handle({ name, given }: Request): unknown {
  if (name === "open") return open(given as OpenRequest);
  // The last attempt has failed, which may have been for a moment.
  if (store === undefined && toOpen) open(toOpen);
  if (store === undefined) throw new Error("the store is not open");
  return (store.handlers[name] as (given: unknown) => unknown)(given);
}

function answer({ number, name }: Request, result: Pick<Reply, "result" | "failure">): void {
  const withStats = name === "append" ? undefined : stats();
  const written = store?.written ?? 0;
  parentPort?.postMessage({ number, ...result, stats: withStats, written } satisfies Reply);
}

function stats(): Reply["stats"] {
  try {
    return store?.stats();
  } catch {
    return undefined; // A request that fails for the same reason reports it.
  }
}

function fail(request: Request, error: unknown): void {
  store?.failed(error);
  answer(request, { failure: toFailure(error, toOpen?.path ?? "") });
}

parentPort?.on("message", (request: Request) => {
  try {
    const result = handle(request);
    if (!(result instanceof Promise)) return answer(request, { result });
    result.then(
      (value: unknown) => answer(request, { result: value }),
      (error: unknown) => fail(request, error),
    );
  } catch (error) {
    fail(request, error);
  }
});
