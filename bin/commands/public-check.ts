// `doorward doctor -public`: checks the way from outside to the running launcher.
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { describeUnreadable } from "../../lib/files/index.ts";
import type { ProbeGrant } from "../../plugins/dashboard/index.ts";
import { sanitizeLine } from "../client/text.ts";
import { UsageError, type CommandContext } from "./command.ts";
import { askLauncher, reportNotRunning, reportRejected } from "./control-client.ts";
import { printChecks } from "./print-checks.ts";

const maxSilenceS = 300;

/** Asks the running launcher for a grant, and uses it over the public URL. */
export async function checkPublicUrl(
  context: CommandContext,
  [url, ...others]: readonly string[] = context.words,
): Promise<number> {
  if (others.length > 0) throw new UsageError("Name one URL: doorward doctor -public URL");
  if (url !== undefined && !/^https?:\/\/./i.test(url))
    throw new UsageError("The URL begins with https:// or http://");
  const { values } = context;
  const options = {
    isQuick: values["quick"] === true,
    ...(url !== undefined && { url }),
    ...(values["silence"] !== undefined && { silenceS: numberOf(values, "silence", maxSilenceS) }),
    ...(values["http-port"] !== undefined && { httpPort: numberOf(values, "http-port", 65_535) }),
    ...(await fileOf(values, "ca")),
    ...(await fileOf(values, "token-file")),
  };
  const answer = await askLauncher<ProbeGrant>(context, "POST", "probe");
  if (!answer) return reportNotRunning(context);
  if (answer.status !== 200) return reportRejected(context, answer.body);
  const { checkPublic } = await import("../../config/doctor/public/index.ts");
  const real = { now: Date.now(), random: randomBytes };
  const say = (step: string): void => context.say(`${sanitizeLine(step)}\n`);
  try {
    return printChecks(
      context,
      true,
      await checkPublic({ ...options, ...real, grant: answer.body, say }),
    );
  } finally {
    await askLauncher(context, "DELETE", `probe/${answer.body.id}`);
  }
}

type Values = CommandContext["values"];

function numberOf(values: Values, name: string, max: number): number {
  const value = Number(values[name]);
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new UsageError(`"-${name}" needs a whole number from 1 to ${max}`);
}

/** Reads the file of an option. Its errors name the file. */
async function fileOf(values: Values, name: "ca" | "token-file"): Promise<object> {
  const path = values[name];
  if (typeof path !== "string") return {};
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    throw new Error(`Cannot read ${path}: ${describeUnreadable(error)}.`, { cause: error });
  });
  return name === "ca" ? { ca: text } : { token: text.trim() };
}
