// Errors about files, with an explanation of the system call that failed.
import { errorTable, type ErrorContext } from "../../kernel/index.ts";

/** Explanations of system errors for users. They never contain the content of a file. */
const errnoReasons: Record<string, string> = {
  EACCES: "permission denied",
  EBUSY: "it is mounted as a single file and cannot be replaced; mount its folder instead",
  EDQUOT: "the disk quota is used up",
  EFBIG: "the file would be larger than this process may write",
  EISDIR: "it is a folder",
  ELOOP: "its symbolic links form a loop",
  ENOENT: "its folder does not exist",
  ENOSPC: "the disk is full",
  ENOTDIR: "a part of its path is not a folder",
  ENXIO: "it is not a regular file",
  EOPNOTSUPP: "it is not a regular file",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  EXDEV: "it is mounted as a single file and cannot be replaced; mount its folder instead",
};

export const fileErrors = errorTable({
  FILE_CORRUPT: (place: string, expected: string, fix: string) =>
    `${place}: expected ${expected}. ${fix}`,
  FILE_UNREADABLE: (path: string, reason: string) => `${path} cannot be read: ${reason}.`,
  FILE_TOO_LARGE: (path: string) =>
    `${path} is larger than 1 MiB, which is too large for a configuration file. Check its content.`,
  FILE_LOCKED: (path: string, holder: string) => `${path} is in use by ${holder}.`,
  FILE_LOCK_BLOCKED: (lock: string, problem: string) =>
    `${lock} has the name of a lock file, but ${problem}. Remove it if you do not need it.`,
  FILE_EDIT_REFUSED: (path: string, reason: string) => `${path} was not changed: ${reason}`,
  FILE_WRITABLE_BY_OTHERS: (path: string, problem: string, fix: string) =>
    `${path} decides which program runs as you, and it ${problem}; ${fix}`,
  store_unavailable: (path: string, reason: string) => `${path} cannot be written: ${reason}.`,
});

export function errnoOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "unknown";
}

export const describeErrno = (error: unknown): string =>
  errnoReasons[errnoOf(error)] ?? `the system reports ${errnoOf(error)}`;

/** `describeErrno` for a file that is read. */
export const describeUnreadable = (error: unknown): string =>
  errnoOf(error) === "ENOENT" ? "it does not exist" : describeErrno(error);

/** @returns The text of an error for users: texts of the system name codes and functions. */
export const describeFailure = (error: NodeJS.ErrnoException): string =>
  error.syscall === undefined ? error.message : describeErrno(error);

const errorContext = (path: string, cause: unknown): ErrorContext => ({
  details: { path, errno: errnoOf(cause) },
  cause,
});

export const unreadableError = (path: string, cause: unknown) =>
  fileErrors.FILE_UNREADABLE(path, describeErrno(cause), errorContext(path, cause));

export const unwritableError = (path: string, cause: unknown) =>
  fileErrors.store_unavailable(path, describeErrno(cause), errorContext(path, cause));
