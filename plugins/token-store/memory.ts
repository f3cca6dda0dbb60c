import type { StoreForm, TokenName } from "./service.ts";

/** Tokens given by a host and kept for this process only. */
export function memory(tokens: Readonly<Record<TokenName, string>> = {}): StoreForm {
  const given = new Map(Object.entries(tokens));
  const pending = new Set<TokenName>();
  return {
    resolve(name) {
      const value = given.get(name)?.trim();
      return value ? { value, source: "host", setupPending: pending.has(name) } : undefined;
    },
    write(name, value, { setupPending }) {
      given.set(name, value);
      if (setupPending) pending.add(name);
      else pending.delete(name);
    },
    label: () => "host",
  };
}
