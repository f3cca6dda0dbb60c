// Runs a launcher in several processes: starts the workers, restarts lost ones, stops all of them.
import cluster, { type Worker } from "node:cluster";
import { resolve } from "node:path";
import type { Environment } from "../../config/load/index.ts";
import { planWorkers, type WorkerPlan } from "../../config/workers/index.ts";
import { codeOf } from "../../kernel/index.ts";
import { homeOf } from "../environment.ts";
import { watchNpm } from "../npm-parent.ts";
import type { FromPrimary, FromWorker } from "./messages.ts";
import { workerVariable, type WorkerDescription } from "./role.ts";

interface PrimaryOptions {
  readonly count: number;
  readonly env: Environment;
  readonly config?: string | undefined;
  readonly port?: number | undefined;
}

/** Milliseconds until the first restart of a worker, and at most. Doubled by each early end. */
const minRestartMs = 1_000;
const maxRestartMs = 30_000;
/** A worker that has served clients for this long restarts after the shortest time. */
const healthyMs = 60_000;

/** Runs the workers until they are stopped, and resolves with the exit code. */
export async function runPrimary(options: PrimaryOptions): Promise<number> {
  const { env, config } = options;
  try {
    const where = { ...options, home: homeOf(env) };
    const plans = await planWorkers(
      config === undefined ? where : { ...where, config: resolve(config) },
    );
    return await new Primary(env).run(plans);
  } catch (error) {
    if (codeOf(error) === "internal") throw error;
    process.stderr.write(`doorward: ${(error as Error).message}\n`);
    return 1;
  }
}

interface Slot {
  readonly plan: WorkerPlan;
  worker: Worker | undefined;
  /** When the worker began to serve clients; undefined before that. */
  servingSince: number | undefined;
  restartMs: number;
  timer: NodeJS.Timeout | undefined;
}

class Primary {
  private readonly env: Environment;
  private slots: readonly Slot[] = [];
  private phase: "starting" | "serving" | "stopping" = "starting";
  private stopReason = "";
  private exitCode = 0;
  private finish: (code: number) => void = () => undefined;

  constructor(env: Environment) {
    this.env = env;
  }

  run(plans: readonly WorkerPlan[]): Promise<number> {
    // Windows has another default, with which one process gets most connections.
    cluster.schedulingPolicy = cluster.SCHED_RR;
    this.slots = plans.map((plan) => ({
      plan,
      worker: undefined,
      servingSince: undefined,
      restartMs: minRestartMs,
      timer: undefined,
    }));
    for (const signal of ["SIGINT", "SIGTERM"] as const)
      process.on(signal, () => (this.phase === "stopping" ? this.kill() : this.stop(signal)));
    process.on("SIGHUP", (signal) => this.stop(signal));
    watchNpm({ env: this.env, ended: () => this.stop("npm ended") });
    return new Promise((done) => {
      this.finish = done;
      // It creates the files of the home, so that the others find them.
      this.fork(this.slots[0]!);
    });
  }

  private fork(slot: Slot): void {
    const { number, port, variables } = slot.plan;
    const description: WorkerDescription = { number, port, isRestart: this.phase === "serving" };
    const worker = cluster.fork({
      ...this.env,
      ...variables,
      SERVICE_WORKERS: String(this.slots.length), // also if the file changes in the meantime
      [workerVariable]: JSON.stringify(description),
    });
    slot.worker = worker;
    slot.servingSince = undefined;
    worker.on("message", (message: FromWorker) => {
      if (message.type === "serving") return this.serving(slot);
      for (const other of this.slots) if (other !== slot) this.tell(other, message);
    });
    worker.on("error", () => undefined); // of messages to a worker that has just ended
    worker.once("exit", (code: number | null, signal: string | null) =>
      this.exited(slot, code, signal),
    );
  }

  private serving(slot: Slot): void {
    slot.servingSince = performance.now();
    // A worker that was still loading has missed the first message.
    if (this.phase === "stopping") this.tell(slot, { type: "stop", reason: this.stopReason });
    if (this.phase !== "starting") return;
    if (slot === this.slots[0]) this.slots.slice(1).forEach((other) => this.fork(other));
    if (this.slots.some(({ servingSince }) => servingSince === undefined)) return;
    this.phase = "serving";
    this.tell(this.slots[0]!, { type: "complete" });
  }

  private exited(slot: Slot, code: number | null, signal: string | null): void {
    const { servingSince, plan } = slot;
    slot.worker = undefined;
    slot.servingSince = undefined;
    if (this.phase === "serving") return this.restart(slot, servingSince, { code, signal });
    if (this.phase === "starting") {
      // With a code, the worker has said why.
      if (signal !== null) this.say(`Worker ${plan.number} was ended by ${signal} at its start.`);
      this.exitCode = 1;
      this.stop("a worker did not start");
    }
    // A service manager signals all processes, some before they can stop in order.
    if (code !== 0 && signal !== "SIGTERM") this.exitCode = 1;
    this.finishIfEmpty();
  }

  private restart(
    slot: Slot,
    servingSince: number | undefined,
    end: { readonly code: number | null; readonly signal: string | null },
  ): void {
    const isHealthy = servingSince !== undefined && performance.now() - servingSince > healthyMs;
    if (isHealthy) slot.restartMs = minRestartMs;
    const { restartMs } = slot;
    const { number } = slot.plan;
    slot.restartMs = Math.min(restartMs * 2, maxRestartMs);
    slot.timer = setTimeout(() => this.fork(slot), restartMs);
    const how = end.signal ?? `exit code ${end.code ?? "unknown"}`;
    this.say(`Worker ${number} ended (${how}). It starts again in ${restartMs / 1_000} s.`);
    const witness = this.slots.find((other) => other.servingSince !== undefined);
    if (witness) this.tell(witness, { type: "lost", number, restartMs, ...end });
  }

  private stop(reason: string): void {
    if (this.phase === "stopping") return;
    this.phase = "stopping";
    this.stopReason = reason;
    for (const slot of this.slots) {
      clearTimeout(slot.timer);
      this.tell(slot, { type: "stop", reason });
    }
    this.finishIfEmpty();
  }

  /** Kills the workers and exits, after a second signal. */
  private kill(): void {
    for (const { worker } of this.slots) worker?.process.kill("SIGKILL");
    process.exit(1);
  }

  private finishIfEmpty(): void {
    if (this.slots.every(({ worker }) => worker === undefined)) this.finish(this.exitCode);
  }

  private tell({ worker }: Slot, message: FromPrimary): void {
    if (worker?.isConnected()) worker.send(message);
  }

  private say(text: string): void {
    process.stderr.write(`doorward: ${text}\n`);
  }
}
