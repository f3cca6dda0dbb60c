// Doctor check for the settings of several workers.
import type { CheckView } from "../../plugins/dashboard/index.ts";
import { toWorkerCount } from "../workers/count.ts";
import { planWorkers } from "../workers/index.ts";
import { createCheck, type Survey } from "./survey.ts";

/** Checks that the workers have a shared store and ports. */
export async function workerChecks({
  home,
  env,
  prefix,
  files,
  launcher,
}: Survey): Promise<CheckView[]> {
  const variable = env[`${prefix}_WORKERS`]?.trim();
  const value = variable ? Number(variable) : launcher["workers"];
  if (value === undefined || value === 1) return [];
  const own = createCheck("workers", "Several workers serve clients");
  try {
    const plans = await planWorkers({
      count: toWorkerCount(value),
      home,
      env,
      config: files.config,
    });
    const ports = plans.map(({ port }) => (port === 0 ? "a free port" : port));
    return [own.ok(`${plans.length} workers have their dashboards at ${ports.join(", ")}.`)];
  } catch (error) {
    return [own.failed((error as Error).message, "see docs/scaling.md")];
  }
}
