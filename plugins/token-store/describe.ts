import type { TokenRecord } from "./held.ts";
import { tokenWarning } from "./rules.ts";
import type { TokenBackend, TokenDescription, TokenInfo, TokenName } from "./service.ts";

export const toTokenInfo = ({ version, source }: TokenRecord): TokenInfo => ({
  version,
  source,
  managedByEnv: source === "env",
});

/** All that may be said of a token without saying it. Reads the places again. */
export async function describeToken(
  form: TokenBackend,
  name: TokenName,
  token: TokenRecord,
): Promise<TokenDescription> {
  const places = (await form.places?.(name)) ?? [];
  const label = token.source === "random" ? "config" : token.source;
  const own = places.find(({ source }) => source === label);
  const changedAt = token.changedAt ?? own?.changedAt;
  const variable = form.variable?.(name);
  const doubt = token.value === undefined ? undefined : tokenWarning(name, token.value);
  return {
    name,
    ...toTokenInfo(token),
    ...(variable === undefined ? {} : { variable }),
    ...(changedAt === undefined ? {} : { changedAt }),
    ...(doubt === undefined ? {} : { concern: doubt }),
    others: places
      .filter((place) => place !== own)
      .map(({ source, value }) => ({ source, same: token.compare?.matches(value) ?? false })),
  };
}
