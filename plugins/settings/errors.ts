import { errorTable } from "../../kernel/index.ts";

export const settingsErrors = errorTable({
  field_not_editable: (field: string) =>
    `"${field}" cannot be changed here; edit the file on the machine instead.`,
  invalid_setting: (problem: string) => problem,
  etag_mismatch: (section: string) =>
    `The settings of "${section}" changed since you looked at them; look again and repeat the change.`,
});
