// Error table of the notifications.
import { errorTable } from "../../kernel/index.ts";

/** Errors of the push plugin. Compare `error.code`, not the message. */
export const pushErrors = errorTable({
  subscription_invalid: (field: string, problem: string) => `${field} ${problem}.`,
  too_many_devices: (max: number) =>
    `At most ${max} devices receive notifications. Remove one, then turn this one on again.`,
});
