import type { ResolvedToken, TokenBackend, TokenName } from "./service.ts";

/** Tokens given by a host and kept for this process only. */
export function memory(tokens: Readonly<Record<TokenName, string>> = {}): TokenBackend {
  const given = new Map(Object.entries(tokens));
  const pending = new Set<TokenName>();
  const resolve = (name: TokenName): ResolvedToken | undefined => {
    const value = given.get(name)?.trim();
    return value ? { value, source: "host", setupPending: pending.has(name) } : undefined;
  };
  return {
    resolve,
    write(name, value, { setupPending, first }) {
      const before = first && resolve(name);
      if (before) return before;
      given.set(name, value);
      if (setupPending) pending.add(name);
      else pending.delete(name);
      return undefined;
    },
    label: () => "host",
  };
}
