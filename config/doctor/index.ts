/* Looks for what is wrong in a deployment and says what mends it. What can be read from files
 * and environment is always looked at; what only a running launcher knows comes as facts from
 * it. */
import type { CheckView } from "../../plugins/dashboard/index.ts";
import { channelChecks, rejectedConnectionChecks } from "./channel.ts";
import { fileChecks } from "./files.ts";
import { foreignChecks } from "./foreign.ts";
import { networkChecks } from "./network.ts";
import { pluginChecks, programChecks } from "./plugins.ts";
import { collectSurvey, type DoctorOptions, type Survey } from "./survey.ts";
import { tokenChecks } from "./tokens.ts";

export type { DoctorOptions } from "./survey.ts";

export type { CheckView } from "../../plugins/dashboard/index.ts";

type CheckGroup = (found: Survey) => Promise<CheckView[]> | CheckView[];

/** All checks, the three of every failed token first. A check that cannot be made is a failed
 *  one that says why. */
export async function runDoctor(options: DoctorOptions): Promise<CheckView[]> {
  const found = await collectSurvey(options);
  const parts: readonly CheckGroup[] = [
    channelChecks,
    rejectedConnectionChecks,
    tokenChecks,
    fileChecks,
    foreignChecks,
    networkChecks,
    programChecks,
    pluginChecks,
  ];
  const results: CheckView[] = [];
  for (const checkGroup of parts) {
    try {
      results.push(...(await checkGroup(found)));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      results.push({
        id: `failed-${results.length}`,
        title: "A check could not be made",
        result: "failed",
        reason,
      });
    }
  }
  return results;
}
