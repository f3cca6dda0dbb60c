// Limits the sessions that one person may use.
import type { Log } from "../../../kernel/index.ts";
import { isSessionId } from "../../../lib/pico-wire/index.ts";
import type { SessionAccess } from "../../http/index.ts";

/** The sessions of one person. A client without a scope may use every session. */
export interface SessionScope {
  /**
   * Converts a name from a client to the name of a session. The result does not depend on which
   * sessions exist.
   *
   * @returns undefined if the person may not use the session.
   */
  resolve(name: string): string | undefined;
}

/** Begins every session name that belongs to one person. */
const personalPrefix = "host:";

/** Different ids have different results, and none contains the `/` that ends the prefix. */
const escapeId = (id: string): string => id.replace(/[%/]/g, encodeURIComponent);

function createOwnScope(id: string): SessionScope {
  const prefix = `${personalPrefix}${escapeId(id)}/`;
  return {
    resolve(name) {
      const isPersonal = name.startsWith(personalPrefix);
      if (isPersonal && (!name.startsWith(prefix) || name.length === prefix.length))
        return undefined;
      const session = isPersonal ? name : prefix + name;
      return isSessionId(session) ? session : undefined;
    },
  };
}

function createCheckedScope(mayUse: (session: string) => unknown, log: Log): SessionScope {
  return {
    resolve(session) {
      try {
        // a promise is truthy, so the comparison is strict
        return mayUse(session) === true ? session : undefined;
      } catch (error) {
        log.error({ err: error }, "sessions() of identify failed: the session is rejected");
        return undefined;
      }
    },
  };
}

/** @returns undefined if the person may use every session. */
export function createSessionScope(
  id: string,
  access: SessionAccess,
  log: Log,
): SessionScope | undefined {
  if (access === "all") return undefined;
  if (typeof access === "function") return createCheckedScope(access, log);
  if (access === "own") return createOwnScope(id);
  const names = new Set(access);
  return createCheckedScope((session) => names.has(session), log);
}
