// `doorward doctor`: checks the configuration and suggests fixes.
import type { CheckView } from "../../config/doctor/index.ts";
import { UsageError, type CommandContext } from "./command.ts";
import { printChecks } from "./print-checks.ts";
import { askLauncher, reportRejected } from "./control-client.ts";

/** Asks the running launcher; if none runs, checks the files. @returns Exit code 1 if a check
 *  failed. */
export async function doctor(context: CommandContext): Promise<number> {
  if (context.values["public"] === true) {
    const { checkPublicUrl } = await import("./public-check.ts");
    return checkPublicUrl(context);
  }
  if (context.words.length > 0) throw new UsageError('"doctor" takes only options');
  const stray = publicOptions.find((name) => context.values[name] !== undefined);
  if (stray !== undefined) throw new UsageError(`"-${stray}" needs -public`);
  const answer = await askLauncher<{ checks: CheckView[] }>(context, "POST", "doctor");
  if (answer && answer.status !== 200) return reportRejected(context, answer.body);
  const checks = answer?.body.checks ?? (await runOffline(context));
  return printChecks(context, answer !== undefined, checks);
}

const publicOptions = ["quick", "silence", "http-port", "ca", "token-file"];

async function runOffline({ home, env, version }: CommandContext): Promise<CheckView[]> {
  const { runDoctor } = await import("../../config/doctor/index.ts");
  return runDoctor({ home, env, version, now: Date.now() });
}
