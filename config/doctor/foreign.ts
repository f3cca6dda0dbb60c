// Doctor check for settings of another product.
import type { CheckView } from "../../plugins/dashboard/index.ts";
import type { Survey } from "./survey.ts";
import { createCheck } from "./survey.ts";

/** Lists the settings of PicoClaw in files and environment, with what to write instead. */
export function foreignChecks({ foreign }: Survey): CheckView[] {
  if (foreign.length === 0) return [];
  const own = createCheck("foreign-settings", "Settings of PicoClaw");
  return [
    own.warning(
      foreign.join(" "),
      "use the named settings of Doorward instead; you can leave the others, they are ignored",
    ),
  ];
}
