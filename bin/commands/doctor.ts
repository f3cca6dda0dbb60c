import type { CheckView } from "../../config/doctor/index.ts";
import { plainLine } from "../client/text.ts";
import { UsageError } from "../usage.ts";
import { exit, printJson, type Call } from "./command.ts";
import { askLauncher, refused } from "./local.ts";

const marks: Readonly<Record<CheckView["result"], string>> = {
  ok: "ok     ",
  warning: "warning",
  failed: "FAILED ",
};

/** `doorward doctor`: asks the running launcher, else looks at the files alone. Exit code 1 when a check failed. */
export async function doctor(call: Call): Promise<number> {
  if (call.words.length > 0) throw new UsageError('"doctor" takes nothing');
  const answer = await askLauncher<{ checks: CheckView[] }>(call, "POST", "doctor");
  if (answer && answer.status !== 200) return refused(call, answer.body);
  const checks = answer?.body.checks ?? (await offline(call));
  const failed = checks.filter(({ result }) => result === "failed").length;
  if (call.json) printJson(call, { running: answer !== undefined, checks });
  else {
    for (const { title, result, reason, fix } of checks) {
      // Reasons quote what proxies, other services and plugins say.
      const rows = [title, reason, ...(fix === undefined ? [] : [`fix: ${fix}`])].map(plainLine);
      call.out(`${marks[result]}  ${rows.join("\n         ")}\n`);
    }
    call.say(failed === 0 ? "nothing failed\n" : `${failed} failed\n`);
  }
  return failed === 0 ? exit.done : exit.failed;
}

async function offline({ home, env }: Call): Promise<CheckView[]> {
  const { examine } = await import("../../config/doctor/index.ts");
  return examine({ home, env, now: Date.now() });
}
