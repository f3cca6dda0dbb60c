// Checks the fields of a new key, from a page, a command or a host.
import { isSessionId } from "../../lib/pico-wire/index.ts";
import type { KeyProtocol, KeyInput, KeyScope, StoredKey } from "./contract.ts";
import { keysErrors } from "./errors.ts";

const keyScopes: readonly KeyScope[] = ["read", "write", "answer", "stop"];
const keyProtocols: readonly KeyProtocol[] = ["keys", "openai", "ai_sdk", "ag_ui"];
const defaultScopes: readonly KeyScope[] = ["read", "write"];

const maxSessions = 100;
const maxSeconds = 10 * 365 * 86_400;
const maxGraceSeconds = 30 * 86_400;

/** Keeps the order of `all`, and each item once. */
function pick<T extends string>(field: string, given: unknown, all: readonly T[]): readonly T[] {
  const isList = Array.isArray(given) && given.length > 0;
  if (!isList || !given.every((item) => (all as readonly unknown[]).includes(item)))
    throw keysErrors.invalid_key(field, `one or more of ${all.join(", ")}`);
  return all.filter((item) => given.includes(item));
}

function checkSessions(given: unknown): StoredKey["sessions"] {
  if (given === "own" || given === "all") return given;
  const isList = Array.isArray(given) && given.length > 0 && given.length <= maxSessions;
  if (!isList || !given.every(isSessionId))
    throw keysErrors.invalid_key("sessions", `own, all or 1 to ${maxSessions} names of sessions`);
  return [...new Set(given as readonly string[])];
}

function checkName(given: unknown): string {
  const name = typeof given === "string" ? given.trim() : "";
  const isPrintable = !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(name);
  if (name === "" || name.length > 64 || !isPrintable)
    throw keysErrors.invalid_key("name", "1 to 64 characters in one line");
  return name;
}

function checkSeconds(field: string, given: unknown, min: number, max: number): number {
  const isValid = typeof given === "number" && Number.isFinite(given);
  if (isValid && given >= min && given <= max) return given;
  throw keysErrors.invalid_key(field, `a number of seconds from ${min} to ${max}`);
}

export const checkGrace = (given: unknown): number =>
  checkSeconds("grace", given, 0, maxGraceSeconds);

/** @throws invalid_key that names the wrong field. */
export function checkInput(
  {
    name,
    scopes = defaultScopes,
    sessions = "own",
    protocols = keyProtocols,
    expiresInS,
  }: KeyInput,
  now: number,
): Pick<StoredKey, "name" | "scopes" | "sessions" | "protocols" | "createdAt" | "expiresAt"> {
  return {
    name: checkName(name),
    scopes: pick("scopes", scopes, keyScopes),
    sessions: checkSessions(sessions),
    protocols: pick("protocols", protocols, keyProtocols),
    createdAt: now,
    ...(expiresInS !== undefined && {
      expiresAt: now + checkSeconds("expiresInS", expiresInS, 1, maxSeconds) * 1_000,
    }),
  };
}
