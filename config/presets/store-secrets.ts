// Reads the secrets of a store that several nodes share: from the environment or `.security.yml`.
import { join } from "node:path";
import type { StoreSecrets } from "../../plugins/conversations/index.ts";
import { readYaml } from "../../lib/files/index.ts";
import { isObject } from "../../lib/util.ts";
import type { Environment } from "../load/index.ts";

interface StoreSecretsOptions {
  readonly home: string;
  readonly env: Environment;
  readonly brand: string;
  /** Called with every secret that is read, so that logs can redact it. */
  readonly secret?: ((value: string) => void) | undefined;
}

const textOf = (value: unknown): string | undefined => {
  const text = typeof value === "string" ? value.trim() : "";
  return text === "" ? undefined : text;
};

/** Reads `store.secret` and `store.password`. The environment wins. */
export async function readStoreSecrets(options: StoreSecretsOptions): Promise<StoreSecrets> {
  const { home, env, brand, secret: report } = options;
  const prefix = `${brand.toUpperCase()}_STORE_`;
  const file = await readYaml(join(home, ".security.yml"));
  const stored = isObject(file?.value) && isObject(file.value.store) ? file.value.store : {};
  const secret = textOf(env[`${prefix}SECRET`]) ?? textOf(stored.secret);
  const password = textOf(env[`${prefix}PASSWORD`]) ?? textOf(stored.password);
  for (const value of [secret, password]) if (value !== undefined) report?.(value);
  return { secret, password, variable: `${prefix}SECRET` };
}
