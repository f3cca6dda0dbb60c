// Reads and changes tokens in the files of the home while no launcher runs.
import { randomBytes } from "node:crypto";
import type { TokenRow } from "../../plugins/dashboard/index.ts";
import type { CommandContext } from "./command.ts";

interface ShownToken {
  readonly name: string;
  readonly token: string;
  readonly source: string;
}

/** Access to the tokens in the files of a home. */
export interface OfflineTokens {
  show(name: string): Promise<ShownToken | undefined>;
  describe(names?: readonly string[]): Promise<TokenRow[]>;
  /** Stores `value`, or a generated one. Rejects `token_managed_by_env`, `weak_token`,
   *  `store_unavailable`. */
  replace(name: string, value: string | undefined): Promise<ShownToken>;
}

/** Tokens that many homes do not have. */
const optionalTokens = ["pico_client", "openai", "ai_sdk", "ag_ui"];

export async function offlineTokens({ home, env }: CommandContext): Promise<OfflineTokens> {
  const { tokenWarning, files, generateToken, tokenErrors, weakTokenReason } =
    await import("../../plugins/token-store/index.ts");
  const form = files({ home, env });
  const places = async (name: string) => (await form.places?.(name)) ?? [];

  async function describeOne(name: string): Promise<TokenRow[]> {
    const [own, ...others] = await places(name);
    const variable = form.variable?.(name);
    if (!own && optionalTokens.includes(name)) return [];
    const doubt = own && tokenWarning(name, own.value);
    return [
      {
        name,
        source: own?.source ?? "none",
        managedByEnv: own?.source === "env",
        ...(variable === undefined ? {} : { variable }),
        ...(own?.changedAt === undefined ? {} : { changedAt: own.changedAt }),
        ...(doubt ? { concern: doubt } : {}),
        others: others.map(({ source, value }) => ({ source, same: value === own?.value })),
      },
    ];
  }

  return {
    async show(name) {
      const [own] = await places(name);
      return own && { name, token: own.value, source: own.source };
    },
    describe: async (names = ["launcher", "pico", ...optionalTokens]) =>
      (await Promise.all(names.map(describeOne))).flat(),
    async replace(name, value) {
      const [own] = await places(name);
      if (own?.source === "env")
        throw tokenErrors.token_managed_by_env(name, form.variable?.(name) ?? "of its name");
      const next = value ?? generateToken(name, randomBytes);
      const weak = weakTokenReason(next);
      if (weak) throw tokenErrors.weak_token(weak);
      await form.write(name, next, { setupPending: false });
      return { name, token: next, source: form.label?.(name) ?? "config" };
    },
  };
}
