/* Checks a deployment and suggests fixes. Files and environment are always checked; a running
 * launcher adds its own state. */
import { describeFailure } from "../../lib/files/index.ts";
import type { CheckView } from "../../plugins/dashboard/index.ts";
import { envFileMarks } from "../load/env-file-marks.ts";
import { channelChecks, keysCheck, rejectedClientsCheck } from "./channel.ts";
import { fileChecks } from "./files.ts";
import { networkChecks } from "./network.ts";
import { pluginsCheck, programChecks } from "./plugins.ts";
import {
  collectSurvey,
  createCheck,
  describeTokenSource,
  type DoctorOptions,
  type Survey,
} from "./survey.ts";
import { serviceCheck } from "./service.ts";
import { backupCheck, otherChannelsCheck, storeCheck } from "./store.ts";
import { tokenChecks } from "./tokens.ts";
import { versionCheck } from "./version.ts";

export type { CheckView } from "../../plugins/dashboard/index.ts";

/** Undefined: the check does not concern this home. */
type Checks = CheckView | undefined | readonly (CheckView | undefined)[];
type CheckGroup = (found: Survey) => Promise<Checks> | Checks;

/**
 * Runs all checks, beginning with the three that explain a rejected token. A check that throws
 * becomes a failed check with the reason.
 */
export async function runDoctor(options: DoctorOptions): Promise<CheckView[]> {
  const found = await collectSurvey(options);
  const parts: readonly CheckGroup[] = [
    channelChecks,
    keysCheck,
    rejectedClientsCheck,
    protocolChecks,
    tokenChecks,
    environmentCheck,
    fileChecks,
    versionCheck,
    storeCheck,
    otherChannelsCheck,
    backupCheck,
    foreignCheck,
    networkChecks,
    programChecks,
    serviceCheck,
    pluginsCheck,
  ];
  const results: CheckView[] = [];
  for (const checkGroup of parts) {
    try {
      const checks = [await checkGroup(found)].flat();
      results.push(...checks.flatMap((check) => check ?? []));
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
function environmentCheck({ env }: Survey): CheckView | undefined {
  const found = envFileMarks(env, "service");
  if (found.length === 0) return undefined;
  const own = createCheck("environment-values", "Values of environment variables");
  const reason = found
    .map((text) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`)
    .join(" ");
  return own.warning(reason, "write NAME=value in the env file, without quotes, and restart");
}

/** Lists the settings of PicoClaw in files and environment, with what to write instead. */
function foreignCheck({ foreign }: Survey): CheckView | undefined {
  if (foreign.length === 0) return undefined;
  const own = createCheck("foreign-settings", "Settings of PicoClaw");
  return own.warning(
    foreign.join(" "),
    "use the named settings of Doorward instead; you can leave the others, they are ignored",
  );
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
