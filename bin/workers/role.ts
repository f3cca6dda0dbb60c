// The part of one worker: tells the primary process that it runs, and stops with it.
import cluster from "node:cluster";
import { EventEmitter, once } from "node:events";
import type { Environment } from "../../config/load/index.ts";
import type { FromPrimary, FromWorker, Unblock } from "./messages.ts";

/** The part of a worker process among the processes of one home. */
export interface WorkerRole {
  /** From 1. The first one has the control socket, the browser and the text at the start. */
  readonly number: number;
  readonly port: number;
  /** Tells the primary process that this worker serves clients.
   *  @returns True once all workers do, if this one prints the text at the start. */
  serving(): Promise<boolean>;
  /** Calls `stop` when the primary process wants this worker to stop, or has ended. */
  onStop(stop: (reason: string) => void): void;
  /** Calls `lost` when another worker has ended unexpectedly. */
  onLoss(lost: (loss: Message<"lost">) => void): void;
  /** Tells the other workers that the owner cleared wrong tokens. */
  unblock(message: Unblock): void;
  /** Calls `unblock` when the owner has cleared wrong tokens at another worker. */
  onUnblock(unblock: (message: Unblock) => void): void;
  /** Ends the link to the primary process, so that this process can exit. */
  leave(): void;
}
type Message<T extends FromPrimary["type"]> = Extract<FromPrimary, { type: T }>;

/** The variable in which the primary process describes a worker. */
export const workerVariable = "DOORWARD_WORKER";

/** @returns The role of this process, or undefined if no primary process has started it. */
export function workerRole(env: Environment): WorkerRole | undefined {
  const description = env[workerVariable];
  if (description === undefined || !cluster.worker) return undefined;
  delete process.env[workerVariable]; // not for child processes
  // Otherwise Node ends this process when the primary process ends, without goodbye to clients.
  cluster.worker.exitedAfterDisconnect = true;
  const { number, port, isRestart } = JSON.parse(description) as WorkerDescription;
  const received = new EventEmitter();
  const stopped = new Promise<string>((resolve) => {
    received.once("stop", ({ reason }: Message<"stop">) => resolve(reason));
    process.once("disconnect", () => resolve("the primary process ended"));
  });
  process.on("message", (message: FromPrimary) => received.emit(message.type, message));
  return {
    number,
    port,
    async serving() {
      const complete = once(received, "complete").then(() => true);
      process.send?.({ type: "serving" } satisfies FromWorker);
      if (isRestart || number > 1) return false;
      return Promise.race([complete, stopped.then(() => false)]);
    },
    onStop: (stop) => void stopped.then(stop),
    onLoss: (lost) => void received.on("lost", lost),
    unblock: (message) => void process.send?.(message),
    onUnblock: (unblock) => void received.on("unblock", unblock),
    leave: () => {
      if (process.connected) process.disconnect();
    },
  };
}

/** Content of the variable. */
export interface WorkerDescription {
  readonly number: number;
  readonly port: number;
  /** The worker replaces one that has ended. */
  readonly isRestart: boolean;
}
