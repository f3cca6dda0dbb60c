/** Launcher states during a rotation, and the errors of failed checks and writes. */
import {
  codeOf,
  type ErrorContext,
  type LauncherCommand,
  type LauncherState,
  type Log,
} from "../../kernel/index.ts";
import { tokenErrors } from "./errors.ts";
import type { TokenName } from "./service.ts";

interface ReplacementCommands {
  readonly begin?: LauncherCommand;
  readonly finish: LauncherCommand;
  readonly abandon?: LauncherCommand;
}

/** State of the launcher -> commands that a rotation of the launcher token sends. */
export const replacements: Readonly<Partial<Record<LauncherState, ReplacementCommands>>> = {
  unconfigured: { finish: "accept-credentials" },
  setup: { finish: "finish-setup" },
  running: { begin: "begin-rotation", finish: "finish-rotation", abandon: "abandon-rotation" },
};

const safeErrorCode = (error: unknown): string => {
  const code = String((error as { code?: unknown } | null)?.code ?? "");
  return /^[A-Z][A-Z_]{1,40}$/.test(code) ? code : "unknown";
};

const notStoredError = (reason: string, context?: ErrorContext): Error =>
  tokenErrors.store_unavailable("stored", reason, "The old one is still valid", context);
export const notCheckedError = (reason: string): Error =>
  tokenErrors.store_unavailable("checked", reason, "Try again in a moment");

/** Hides the error of the host's check, because its message may contain the candidate. */
export function checkFailedError(log: Log, name: TokenName, error: unknown): Error {
  log.error(
    { name, code: safeErrorCode(error) },
    `the ${name} token could not be checked: the host's check failed`,
  );
  return notCheckedError("the host's own check failed");
}

/** Hides the message of an unknown error from log and caller, because it may contain the token. */
export function storeUnavailableError(log: Log, name: TokenName, error: unknown): Error {
  const known = codeOf(error) !== "internal";
  const reason = known ? { err: error } : { code: safeErrorCode(error) };
  log.error(
    { name, ...reason },
    `the ${name} token could not be replaced; the old one stays valid`,
  );
  return known
    ? notStoredError((error as Error).message.replace(/\.$/, ""), { cause: error })
    : notStoredError("its store failed");
}
