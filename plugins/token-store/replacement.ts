import {
  codeOf,
  type ErrorContext,
  type LauncherCommand,
  type LauncherState,
  type Log,
} from "../../kernel/index.ts";
import { tokenErrors } from "./errors.ts";
import type { TokenName } from "./service.ts";

interface Steps {
  readonly begin?: LauncherCommand;
  readonly finish: LauncherCommand;
  readonly abandon?: LauncherCommand;
}

/** What a replacement of the launcher's token does to its life, by the state it begins in. */
export const replacements: Readonly<Partial<Record<LauncherState, Steps>>> = {
  unconfigured: { finish: "accept-credentials" },
  setup: { finish: "finish-setup" },
  running: { begin: "begin-rotation", finish: "finish-rotation", abandon: "abandon-rotation" },
};

const codeIn = (error: unknown): string => {
  const code = String((error as { code?: unknown } | null)?.code ?? "");
  return /^[A-Z][A-Z_]{1,40}$/.test(code) ? code : "unknown";
};

const notStored = (reason: string, context?: ErrorContext): Error =>
  tokenErrors.store_unavailable("stored", reason, "The old one is still valid", context);
export const notChecked = (reason: string): Error =>
  tokenErrors.store_unavailable("checked", reason, "Try again in a moment");

/** What a host's own check throws may quote the candidate. */
export function checkFailed(log: Log, name: TokenName, error: unknown): Error {
  log.error(
    { name, code: codeIn(error) },
    `the ${name} token could not be checked: the host's check failed`,
  );
  return notChecked("the host's own check failed");
}

/** The words of an unknown error may quote the token: neither the log nor the caller gets them. */
export function unavailable(log: Log, name: TokenName, error: unknown): Error {
  const known = codeOf(error) !== "internal";
  const reason = known ? { err: error } : { code: codeIn(error) };
  log.error(
    { name, ...reason },
    `the ${name} token could not be replaced; the old one stays valid`,
  );
  return known
    ? notStored((error as Error).message.replace(/\.$/, ""), { cause: error })
    : notStored("its store failed");
}
