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

export interface EnvironmentOptions {
  /** The environment, or a copy; read only. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Prefix of the variables in lower case; default `service`. */
  readonly brand?: string;
}

/** Tokens that are not a channel's. */
const tokensOutsideChannels: readonly TokenName[] = ["launcher", "metrics"];

/** `SERVICE_LAUNCHER_TOKEN`, `SERVICE_CHANNELS_PICO_TOKEN`. */
export const tokenVariable = (name: TokenName, brand = "service"): string =>
  [brand, ...(tokensOutsideChannels.includes(name) ? [] : ["channels"]), name, "token"]
    .join("_")
    .toUpperCase();

/** Tokens from variables alone. What is generated or set in the setup lives as long as this process. */
export function environment({ env, brand }: EnvironmentOptions): TokenBackend {
  const made = memory();
  return {
    ...made,
    resolve(name) {
      const value = env[tokenVariable(name, brand)]?.trim();
      return made.resolve(name) ?? (value ? { value, source: "env" } : undefined);
    },
    variable: (name) => tokenVariable(name, brand),
  };
}
