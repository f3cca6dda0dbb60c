// Errors of the AG-UI protocol.
import { errorTable } from "../../../kernel/index.ts";
import { missingTokenText } from "../errors.ts";

/** Errors of the plugin. `AG_UI_TOKEN_MISSING` fails the start. */
export const agUiErrors = errorTable({
  AG_UI_TOKEN_MISSING: (prefix: string | undefined) => missingTokenText("AG-UI", "ag_ui", prefix),
});
