// `doorward doctor`: checks the configuration and suggests fixes.
import type { CheckView } from "../../config/doctor/index.ts";
import { sanitizeLine } from "../client/text.ts";
import { UsageError, exitCodes, printJson, type CommandContext } from "./command.ts";
import { askLauncher, reportRejected } from "./control-client.ts";

const resultLabels: Readonly<Record<CheckView["result"], string>> = {
  ok: "ok     ",
  warning: "warning",
  failed: "FAILED ",
};

/** Asks the running launcher; if none runs, checks the files. @returns Exit code 1 if a check
 *  failed. */
export async function doctor(context: CommandContext): Promise<number> {
  if (context.words.length > 0) throw new UsageError('"doctor" takes only options');
  const answer = await askLauncher<{ checks: CheckView[] }>(context, "POST", "doctor");
  if (answer && answer.status !== 200) return reportRejected(context, answer.body);
  const checks = answer?.body.checks ?? (await runOffline(context));
  const failed = checks.filter(({ result }) => result === "failed").length;
  if (context.json) printJson(context, { running: answer !== undefined, checks });
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

async function runOffline({ home, env, version }: CommandContext): Promise<CheckView[]> {
  const { runDoctor } = await import("../../config/doctor/index.ts");
  return runDoctor({ home, env, version, now: Date.now() });
}
