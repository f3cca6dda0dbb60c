// Prints results of the doctor.
import type { CheckView } from "../../config/doctor/index.ts";
import { sanitizeLine } from "../client/text.ts";
import { exitCodes, printJson, type CommandContext } from "./command.ts";

const resultLabels: Readonly<Record<CheckView["result"], string>> = {
  ok: "ok     ",
  warning: "warning",
  failed: "FAILED ",
};

/** Prints results. @returns Exit code 1 if a check failed. */
export function printChecks(
  context: CommandContext,
  running: boolean,
  checks: readonly CheckView[],
): number {
  const failed = checks.filter(({ result }) => result === "failed").length;
  if (context.json) printJson(context, { running, checks });
  else {
    for (const { title, result, reason, fix } of checks) {
      // Reasons quote text from proxies, other services and plugins.
      const fixes = fix === undefined ? [] : [`fix: ${context.hinted(fix)}`];
      const rows = [title, reason, ...fixes].map(sanitizeLine);
      context.out(`${resultLabels[result]}  ${rows.join("\n         ")}\n`);
    }
    context.say(
      failed === 0
        ? "no check failed\n"
        : `${failed} ${failed === 1 ? "check" : "checks"} failed\n`,
    );
  }
  return failed === 0 ? exitCodes.done : exitCodes.failed;
}
