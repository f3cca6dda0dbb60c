// Errors of backups.
import { errorTable } from "../../kernel/index.ts";

const restoreOlder = "Update Doorward, then run the command again.";

/** Errors of the system, and those of `lib/files` with the same codes. */
export const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  /^E[A-Z0-9]+$/.test((error as NodeJS.ErrnoException | null)?.code ?? "");

export const backupErrors = errorTable({
  BACKUP_BROKEN: (file: string, problem: string) =>
    `${file} is not a complete backup: ${problem}. Nothing was changed. Use another backup.`,
  BACKUP_NEWER: (file: string, what: string) =>
    `${file} was made by a newer version of Doorward (${what}). ${restoreOlder}`,
  BACKUP_OLD: (file: string) =>
    `${file} has conversations of a development version, which cannot be read. Nothing was ` +
    "changed. Use another backup.",
  BACKUP_TARGET: (file: string, problem: string) =>
    `The backup cannot be written to ${file}: ${problem}.`,
  BACKUP_FAILED: (what: string, reason: string) =>
    `The backup was not made, and earlier ones are unchanged. ${what}: ${reason}.`,
  PASSPHRASE_WRONG: (file: string) =>
    `The passphrase does not open the tokens in ${file}. Nothing was changed. To restore ` +
    "without them, add -no-tokens.",
  PASSPHRASE_WEAK: (length: number) => `The passphrase needs at least ${length} characters.`,
  RESTORE_BLOCKED: (home: string, problem: string) =>
    `The backup was not restored to ${home}: ${problem}`,
});
