import { codeOf, type LauncherCommand, type LauncherState, type Log } from "../../kernel/index.ts";
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

/** The words of an unknown error may quote the token: neither the log nor the caller gets them. */
export function unavailable(log: Log, name: TokenName, error: unknown): Error {
  const known = codeOf(error) !== "internal";
  const system = String((error as { code?: unknown } | null)?.code ?? "");
  const reason = known ? { err: error } : { code: /^[A-Z][A-Z_]{1,40}$/.test(system) ? system : "unknown" };
  log.error({ name, ...reason }, `the ${name} token could not be replaced; the old one stays valid`);
  return known
    ? tokenErrors.store_unavailable((error as Error).message.replace(/\.$/, ""), { cause: error })
    : tokenErrors.store_unavailable("its store failed");
}
