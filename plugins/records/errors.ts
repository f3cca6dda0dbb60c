// Error table of the records.
import { errorTable } from "../../kernel/index.ts";

/** Errors of the service `records`. Compare `error.code`, not the message. */
export const recordsErrors = errorTable({
  RECORDS_BROKEN: (path: string, line: number) =>
    `The file ${path} of records is damaged in line ${line}. Restore it from a backup, or move ` +
    "it away to begin without records.",
  RECORDS_IN_USE: (path: string, holder: string) =>
    `Another process has opened the records in ${path} (${holder}). Stop it, or use another home.`,
  store_unavailable: (path: string, reason: string) => `${path} cannot be read: ${reason}.`,
  record_invalid: (field: string, expected: string) => `${field}: expected ${expected}.`,
  record_conflict: (key: string, version: number) =>
    version === 0
      ? `There is no record "${key}" any more. Read it again, and decide whether to store it.`
      : `The record "${key}" has changed: its version is ${version}. Read it and try again.`,
  records_full: (name: string) =>
    `The records "${name}" are full: at most 10,000 records and 8 MiB. Remove old ones.`,
});
