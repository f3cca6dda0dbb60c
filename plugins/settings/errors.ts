/** Errors of the settings plugin. */
import { errorTable } from "../../kernel/index.ts";

export const settingsErrors = errorTable({
  field_not_editable: (field: string) =>
    `"${field}" cannot be changed here; edit the file on the machine instead.`,
  invalid_setting: (problem: string) => problem,
  etag_mismatch: (section: string) =>
    `The settings of "${section}" changed since you read them; read them again and ` +
    "repeat the change.",
});
