// Sends requests to the worker, and starts it again if it ends.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import { storeErrors } from "./errors.ts";
import type { Failure, OpenRequest, Reply, RequestName, Requests, Stats } from "./protocol.ts";

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface WorkerClientOptions {
  /** Path of the database. */
  readonly path: string;
  /** The request that opens the file. */
  readonly toOpen: () => OpenRequest;
  readonly onStats: (stats: Stats) => void;
  /** The rows of all batches up to this number are written. */
  readonly onWritten: (number: number) => void;
  /** Called when the worker ended by itself. */
  readonly onExit: (error: unknown) => void;
  /** The first worker, if it was started already. */
  readonly thread: Worker | undefined;
}

/** `threadId` of a worker that has ended. */
const endedId = -1;

/** The bundled worker: this module runs from `dist`, from a bundle or from source. */
function workerFile(): string {
  const manifest = createRequire(import.meta.url).resolve("doorward/package.json");
  return join(dirname(manifest), "dist/plugins/conversations/stores/sqlite/worker.cjs");
}

let source: string | undefined;

/**
 * Reads the code of the worker, which may start much later: an update of the package must not mix
 * two versions in one process.
 */
export function readWorkerCode(): void {
  const file = workerFile();
  source ??= `__filename = ${JSON.stringify(file)};\n${readFileSync(file, "utf8")}`;
}

/** Starts a worker. It opens nothing before its first request. */
export function startWorker(): Worker {
  readWorkerCode();
  const worker = new Worker(source!, {
    eval: true,
    name: "conversations",
    execArgv: ["--disable-warning=ExperimentalWarning"],
  });
  // Until a client listens. A worker that has ended by then is not used.
  worker.on("error", () => undefined);
  return worker;
}

function toError({ code, values, cause }: Failure): Error {
  const factory = storeErrors[code] as (...given: unknown[]) => Error;
  return factory(...values, { details: { reason: cause } });
}

/** One worker at a time. Requests are answered in their order, except searches and deletions. */
export class WorkerClient {
  private readonly options: WorkerClientOptions;
  private readonly waiting = new Map<number, Waiting>();
  private worker: Worker | undefined;
  private sent = 0;
  private isStopped = false;

  constructor(options: WorkerClientOptions) {
    this.options = options;
    const { thread } = options;
    if (thread && thread.threadId !== endedId) this.worker = this.listen(thread);
  }

  get isRunning(): boolean {
    return this.worker !== undefined;
  }

  /** True if no request waits for its answer. */
  get isIdle(): boolean {
    return this.waiting.size === 0;
  }

  /** Starts the worker before its first request, which then waits less. */
  start(): void {
    if (this.isStopped) throw this.unavailable("it is closed");
    this.worker ??= this.listen(startWorker());
  }

  /**
   * Sends a request. Starts the worker and opens the file if there is none.
   *
   * @param transfer - Buffers that the caller does not use any more.
   */
  request<K extends RequestName>(
    name: K,
    given: Requests[K]["given"],
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Requests[K]["result"]> {
    if (this.isStopped) return Promise.reject(this.unavailable("it is closed"));
    if (this.worker === undefined) {
      this.start();
      // If it fails, so do the requests that follow.
      if (name !== "open") this.post("open", this.options.toOpen()).catch(() => {});
    }
    return this.post(name, given, transfer);
  }

  /** Ends the worker. Requests that wait or follow are rejected. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await this.end();
  }

  /** Ends the worker until the next request. Requests that wait are rejected. */
  async end(): Promise<void> {
    const worker = this.worker;
    this.worker = undefined;
    worker?.removeAllListeners();
    this.rejectAll();
    await worker?.terminate();
  }

  private post<K extends RequestName>(
    name: K,
    given: Requests[K]["given"],
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Requests[K]["result"]> {
    const worker = this.worker!;
    const number = ++this.sent;
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve: resolve as Waiting["resolve"], reject });
      worker.ref();
      worker.postMessage({ number, name, given }, [...transfer]);
    });
  }

  private listen(worker: Worker): Worker {
    worker.on("message", (reply: Reply) => this.receive(worker, reply));
    worker.on("error", (error) => this.lose(worker, error));
    worker.on("exit", () => this.lose(worker, undefined));
    return worker;
  }

  private receive(worker: Worker, { number, result, failure, stats, written }: Reply): void {
    const waiting = this.waiting.get(number);
    this.waiting.delete(number);
    // An idle worker does not keep the process alive.
    if (this.waiting.size === 0) worker.unref();
    if (stats) this.options.onStats(stats);
    this.options.onWritten(written);
    if (failure) waiting?.reject(toError(failure));
    else waiting?.resolve(result);
  }

  private lose(worker: Worker, error: unknown): void {
    if (this.worker !== worker) return;
    this.worker = undefined;
    this.rejectAll(error);
    this.options.onExit(error);
  }

  private rejectAll(cause?: unknown): void {
    const all = [...this.waiting.values()];
    this.waiting.clear();
    for (const { reject } of all) reject(this.unavailable("its worker ended", cause));
  }

  private unavailable(reason: string, cause?: unknown): Error {
    return storeErrors.store_unavailable(this.options.path, reason, { cause });
  }
}
