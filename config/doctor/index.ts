/* Checks a deployment and suggests fixes. Files and environment are always checked; a running
 * launcher adds its own state. */
import { describeFailure } from "../../lib/files/index.ts";
import type { CheckView } from "../../plugins/dashboard/index.ts";
import { envFileMarks } from "../load/env-file-marks.ts";
import { channelChecks, rejectedConnectionChecks } from "./channel.ts";
import { fileChecks } from "./files.ts";
import { networkChecks } from "./network.ts";
import { pluginChecks, programChecks } from "./plugins.ts";
import {
  collectSurvey,
  createCheck,
  describeTokenSource,
  type DoctorOptions,
  type Survey,
} from "./survey.ts";
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
      const reason = describeFailure(error as Error);
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

/** Names variables that an env file gave quotation marks or a comment. */
function environmentChecks({ env }: Survey): CheckView[] {
  const found = envFileMarks(env, "service");
  if (found.length === 0) return [];
  const own = createCheck("environment-values", "Values of environment variables");
  const reason = found
    .map((text) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`)
    .join(" ");
  return [own.warning(reason, "write NAME=value in the env file, without quotes, and restart")];
}

/** Lists the settings of PicoClaw in files and environment, with what to write instead. */
function foreignChecks({ foreign }: Survey): CheckView[] {
  if (foreign.length === 0) return [];
  const own = createCheck("foreign-settings", "Settings of PicoClaw");
  return [
    own.warning(
      foreign.join(" "),
      "use the named settings of Doorward instead; you can leave the others, they are ignored",
    ),
  ];
}

/** One check for each protocol that is on. Needs a running launcher. */
function protocolChecks({ running }: Survey): CheckView[] {
  const enabled = running?.protocols.filter((protocol) => protocol.enabled) ?? [];
  return enabled.map(({ name, title, url }) => {
    const own = createCheck(`protocol-${name}`, title);
    const source = running?.tokens.find((token) => token.name === name)?.source ?? "none";
    const fix = `doorward token rotate ${name}`;
    if (source === "none") return own.failed("It is on and has no token.", fix);
    const where = url === undefined ? "" : ` Clients use the base URL ${url}.`;
    return own.ok(`It is on.${where} Its token comes from ${describeTokenSource(name, source)}.`);
  });
}
