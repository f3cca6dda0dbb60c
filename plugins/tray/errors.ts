// Errors of the tray.
import { errorTable } from "../../kernel/index.ts";

/** Creates the errors of the tray by code. */
export const trayErrors = errorTable({
  TRAY_UNAVAILABLE: (why: string) => `The tray cannot be shown: ${why}.`,
});
