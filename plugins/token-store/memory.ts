/** Token backends without files: tokens from the host and from environment variables. */
import type { ResolvedToken, TokenBackend, TokenName } from "./service.ts";
import { tokenVariable } from "./token.ts";

/**
 * Creates a backend with tokens from the host. It keeps them in this process only.
 *
 * @param tokens - Token name -> value.
 * @example
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * const store = tokenStore(memory({ pico: token }));
 */
export function memory(tokens: Readonly<Record<TokenName, string>> = {}): TokenBackend {
  const values = new Map(Object.entries(tokens));
  const pending = new Set<TokenName>();
  const resolve = (name: TokenName): ResolvedToken | undefined => {
    const value = values.get(name)?.trim();
    return value ? { value, source: "host", setupPending: pending.has(name) } : undefined;
  };
  return {
    resolve,
    write(name, value, { setupPending, first }) {
      const before = first && resolve(name);
      if (before) return before;
      values.set(name, value);
      if (setupPending) pending.add(name);
      else pending.delete(name);
      return undefined;
    },
    label: () => "host",
  };
}

/** Options of `environment()`. */
export interface EnvironmentOptions {
  /** The environment, or a copy; it is only read. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Prefix of the variables, in lower case. @defaultValue `"service"` */
  readonly brand?: string;
}

/**
 * Creates a backend that reads tokens from environment variables. A generated token, and one
 * chosen during setup, is lost when the process exits.
 *
 * @example
 * import { environment, tokenStore } from "doorward/plugins/token-store";
 * const store = tokenStore(environment({ env: process.env }));
 */
export function environment({ env, brand }: EnvironmentOptions): TokenBackend {
  const created = memory();
  return {
    ...created,
    resolve(name) {
      const value = env[tokenVariable(name, brand)]?.trim();
      return created.resolve(name) ?? (value ? { value, source: "env" } : undefined);
    },
    variable: (name) => tokenVariable(name, brand),
  };
}
