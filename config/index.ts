/* For hosts that want the launcher's places of configuration: nothing is read unless one of
 * these is called, and `process.env` only when the host passes it. */
import type { AnyPlugin } from "../kernel/index.ts";
import { environment, files, type TokenBackend } from "../plugins/token-store/index.ts";
import { readEnvironment, variablesOf, type Environment } from "./load/environment.ts";
import { load, type Loaded } from "./load/index.ts";
import { sectionsOf } from "./load/sections.ts";

export { loadErrors, type Environment, type Loaded, type Sources } from "./load/index.ts";

export interface FromEnvironment {
  /** For `tokenStore`: `SERVICE_CHANNELS_PICO_TOKEN`, … */
  readonly tokens: TokenBackend;
  /** Settings of the plugins, `SERVICE_CHANNELS_PICO_ENABLED=true`: spread into the options of
   *  `createKernel`. Rejects `ENV_BAD_VALUE`, `ENV_AMBIGUOUS`. */
  load(plugins: readonly AnyPlugin[]): Promise<Pick<Loaded, "config" | "warnings">>;
}

/** Tokens and settings from an environment alone; no file is read or written. */
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

export interface FromFilesOptions {
  /** What stands above the files; default: nothing. */
  readonly env?: Environment;
  readonly brand?: string;
  /** `config.json` elsewhere than in the home. */
  readonly config?: string;
}
export interface FromFiles {
  /** For `tokenStore`; generated and changed tokens are written to the home. */
  readonly tokens: TokenBackend;
  /** Settings of the plugins: spread into the options of `createKernel`; `sources` is what
   *  `settings()` takes. Rejects with the file and the place that is wrong. */
  load(plugins: readonly AnyPlugin[]): Promise<Loaded>;
}

/** Tokens and settings from the files of a home: `config.json`, `launcher-config.json`,
 *  `.security.yml`. */
export function fromFiles(
  home: string,
  { env = {}, brand = "service", config }: FromFilesOptions = {},
): FromFiles {
  const places = { home, env, brand, ...(config === undefined ? {} : { config }) };
  return { tokens: files(places), load: (plugins) => load(plugins, places) };
}
