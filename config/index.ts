/* Entry point `./config`: tokens and settings from the environment or from the files of a home.
 * Nothing is read before a call; `process.env` is read only if the host application passes it. */
import type { AnyPlugin } from "../kernel/index.ts";
import { environment, files, type TokenBackend } from "../plugins/token-store/index.ts";
import { readEnvironment, variablesOf, type Environment } from "./load/environment.ts";
import { load, type Loaded } from "./load/index.ts";
import { sectionsOf } from "./load/sections.ts";

export { loadErrors, type Environment, type Loaded, type Sources } from "./load/index.ts";

/** Tokens and settings from an environment. */
export interface FromEnvironment {
  /** For `tokenStore`: `SERVICE_CHANNELS_PICO_TOKEN`, … */
  readonly tokens: TokenBackend;
  /**
   * Reads the settings of plugins, for example `SERVICE_CHANNELS_PICO_ENABLED=true`. Spread the
   * result into the options of `createKernel`.
   *
   * @throws ENV_BAD_VALUE if a variable has an invalid value.
   * @throws ENV_AMBIGUOUS if two settings have the same variable.
   */
  load(plugins: readonly AnyPlugin[]): Promise<Pick<Loaded, "config" | "warnings">>;
}

/**
 * Takes tokens and settings from an environment only; reads and writes no files.
 *
 * @example
 * import { createKernel } from "doorward";
 * import { fromEnvironment } from "doorward/config";
 * import { http } from "doorward/plugins/http";
 * import { tokenStore } from "doorward/plugins/token-store";
 * const { tokens, load } = fromEnvironment(process.env);
 * const plugins = [tokenStore(tokens), http()] as const;
 * const kernel = createKernel(plugins, await load(plugins));
 */
export function fromEnvironment(
  env: Environment,
  { brand = "service" }: { brand?: string } = {},
): FromEnvironment {
  return {
    tokens: environment({ env, brand }),
    async load(plugins) {
      const { values, warnings } = readEnvironment(
        env,
        variablesOf(sectionsOf(plugins), brand),
        brand,
      );
      return { config: Object.fromEntries(values), warnings };
    },
  };
}

/** Where `fromFiles` reads in addition to the home. */
export interface FromFilesOptions {
  /** Environment that overrides the files. @defaultValue empty */
  readonly env?: Environment;
  /** The prefix of environment variables, in lower case. @defaultValue `"service"` */
  readonly brand?: string;
  /** Path of `config.json`. @defaultValue in the home */
  readonly config?: string;
}
/** Tokens and settings from the files of a home. */
export interface FromFiles {
  /** For `tokenStore`; writes generated and rotated tokens to the home. */
  readonly tokens: TokenBackend;
  /**
   * Reads the settings of plugins. Spread the result into the options of `createKernel`, and pass
   * `sources` to `settings()`. An error names the file and the setting.
   */
  load(plugins: readonly AnyPlugin[]): Promise<Loaded>;
}

/**
 * Takes tokens and settings from the files of a home: `config.json`, `launcher-config.json` and
 *  `.security.yml`.
 *
 * @example
 * import { createKernel } from "doorward";
 * import { fromFiles } from "doorward/config";
 * import { http } from "doorward/plugins/http";
 * import { tokenStore } from "doorward/plugins/token-store";
 * const { tokens, load } = fromFiles("/var/lib/agent", { env: process.env });
 * const plugins = [tokenStore(tokens), http()] as const;
 * const { config } = await load(plugins);
 * const kernel = createKernel(plugins, { config });
 */
export function fromFiles(
  home: string,
  { env = {}, brand = "service", config }: FromFilesOptions = {},
): FromFiles {
  const places = { home, env, brand, ...(config === undefined ? {} : { config }) };
  return { tokens: files(places), load: (plugins) => load(plugins, places) };
}
