/** Errors of the settings plugin. */
import { errorTable } from "../../kernel/index.ts";

/**
 * Errors of `Settings.update`. A plugin that rejects a change adds its own codes. Compare
 * `error.code`, not the message.
 */
export const settingsErrors = errorTable({
  field_not_editable: (field: string) =>
    `"${field}" cannot be changed here; edit the file on the machine instead.`,
  invalid_setting: (problem: string) => problem,
  etag_mismatch: (section: string) =>
    `The settings of "${section}" changed since you read them; read them again and ` +
    "repeat the change.",
});
