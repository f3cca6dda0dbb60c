// Doctor check for values of environment variables.
import type { CheckView } from "../../plugins/dashboard/index.ts";
import { envFileMarks } from "../load/env-file-marks.ts";
import type { Survey } from "./survey.ts";
import { createCheck } from "./survey.ts";

/** Names variables that an env file gave quotation marks or a comment. */
export function environmentChecks({ env, prefix }: Survey): CheckView[] {
  const found = envFileMarks(env, prefix.toLowerCase());
  if (found.length === 0) return [];
  const own = createCheck("environment-values", "Values of environment variables");
  const reason = found
    .map((text) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`)
    .join(" ");
  return [own.warning(reason, "write NAME=value in the env file, without quotes, and restart")];
}
