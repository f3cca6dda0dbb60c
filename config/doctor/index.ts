/* Checks a deployment and suggests fixes. Files and environment are always checked; a running
 * launcher adds its own state. */
import type { CheckView } from "../../plugins/dashboard/index.ts";
import { channelChecks, rejectedConnectionChecks } from "./channel.ts";
import { environmentChecks } from "./environment.ts";
import { fileChecks } from "./files.ts";
import { foreignChecks } from "./foreign.ts";
import { networkChecks } from "./network.ts";
import { pluginChecks, programChecks } from "./plugins.ts";
import { protocolChecks } from "./protocols.ts";
import { collectSurvey, type DoctorOptions, type Survey } from "./survey.ts";
import { otherChannelChecks, storeChecks } from "./store.ts";
import { tokenChecks } from "./tokens.ts";
import { versionChecks } from "./version.ts";

export type { CheckView } from "../../plugins/dashboard/index.ts";

type CheckGroup = (found: Survey) => Promise<CheckView[]> | CheckView[];

/**
 * Runs all checks, beginning with the three that explain a rejected token. A check that throws
 * becomes a failed check with the reason.
 */
export async function runDoctor(options: DoctorOptions): Promise<CheckView[]> {
  const found = await collectSurvey(options);
  const parts: readonly CheckGroup[] = [
    channelChecks,
    rejectedConnectionChecks,
    protocolChecks,
    tokenChecks,
    environmentChecks,
    fileChecks,
    versionChecks,
    storeChecks,
    otherChannelChecks,
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
        title: "A check could not run",
        result: "failed",
        reason,
      });
    }
  }
  return results;
}
