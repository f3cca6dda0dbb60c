import type { CheckView } from "../../plugins/dashboard/index.ts";

/** One check and what may come of it; whatever is not well has a fix. */
export const createCheck = (id: string, title: string) => ({
  ok: (reason: string): CheckView => ({ id, title, result: "ok", reason }),
  warning: (reason: string, fix: string): CheckView => ({
    id,
    title,
    result: "warning",
    reason,
    fix,
  }),
  failed: (reason: string, fix: string): CheckView => ({
    id,
    title,
    result: "failed",
    reason,
    fix,
  }),
});
