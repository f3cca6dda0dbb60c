import { errorTable } from "../../kernel/index.ts";

export const trayErrors = errorTable({
  TRAY_UNAVAILABLE: (why: string) => `The tray cannot be shown: ${why}.`,
});
