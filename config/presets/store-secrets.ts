// Reads the secrets of a store that several nodes share: from the environment or `.security.yml`.
import { join } from "node:path";
import type { StoreSecrets } from "../../plugins/redis/index.ts";
import { tokenErrors } from "../../plugins/token-store/index.ts";
import { findYamlText, readYaml } from "../../lib/files/index.ts";
import type { Environment } from "../load/index.ts";

interface StoreSecretsOptions {
  readonly home: string;
  readonly env: Environment;
  /** Called with every secret that is read, so that logs can redact it. */
  readonly secret?: ((value: string) => void) | undefined;
}

/**
 * Reads `store.secret` and `store.password`. The environment wins.
 *
 * @throws token_not_text if the file contains something else than a text.
 */
export async function readStoreSecrets(options: StoreSecretsOptions): Promise<StoreSecrets> {
  const { home, env, secret: report } = options;
  const prefix = "SERVICE_STORE_";
  const path = join(home, ".security.yml");
  const file = await readYaml(path);
  const find = (name: string): string | undefined => {
    const given = env[prefix + name.toUpperCase()]?.trim();
    if (given || !file) return given || undefined;
    const { text, problem } = findYamlText(file, ["store", name], path);
    if (problem) throw tokenErrors.token_not_text(problem.place, problem.key, problem.expected);
    return text?.trim();
  };
  const [secret, password] = [find("secret"), find("password")];
  for (const value of [secret, password]) if (value !== undefined) report?.(value);
  return { secret, password, variable: `${prefix}SECRET` };
}
