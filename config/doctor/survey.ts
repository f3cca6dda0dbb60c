import { join } from "node:path";
import { files, memory, type TokenPlace } from "../../plugins/token-store/index.ts";
import type { DoctorFacts, PluginView } from "../../plugins/dashboard/index.ts";
import { readJson, readYaml } from "../../lib/files/index.ts";
import {
  foreignInConfig,
  foreignInLauncher,
  foreignInSecurity,
  foreignVariables,
} from "../foreign/index.ts";
import type { Environment } from "../load/index.ts";
import type { DoctorOptions } from "./index.ts";

type Raw = Readonly<Record<string, unknown>>;

export interface Survey {
  readonly home: string;
  readonly env: Environment;
  readonly prefix: string;
  readonly files: { readonly launcher: string; readonly config: string; readonly security: string };
  /** Path -> why it cannot be read. */
  readonly unreadable: ReadonlyMap<string, string>;
  /** Settings as files and environment give them, without defaults. */
  readonly launcher: Raw;
  readonly pico: Raw;
  /** Name -> where a token stands, highest first. */
  readonly places: ReadonlyMap<string, readonly TokenPlace[]>;
  readonly running: DoctorFacts | undefined;
  /** How plugins by other authors fare in a running launcher. */
  readonly plugins: readonly PluginView[] | undefined;
  /** `plugins` of `config.json` as it stands there. */
  readonly pluginEntries: unknown;
  /** `handler` of `config.json` as it stands there. */
  readonly handler: unknown;
  /** What only PicoClaw reads, in sentences. */
  readonly foreign: readonly string[];
  readonly now: number;
}

const builtIn = ["launcher", "pico", "pico_client", "metrics"];

const objectAt = (value: unknown, ...path: string[]): Raw => {
  const found = path.reduce<unknown>((node, key) => (node as Raw | undefined)?.[key], value);
  return typeof found === "object" && found !== null && !Array.isArray(found) ? (found as Raw) : {};
};

/** Reads everything once. */
export async function survey(options: DoctorOptions): Promise<Survey> {
  const { home, env, brand = "service", config, running, plugins, now } = options;
  const paths = {
    launcher: join(home, "launcher-config.json"),
    config: config ?? join(home, "config.json"),
    security: join(home, ".security.yml"),
  };
  const unreadable = new Map<string, string>();
  const read = async (path: string, how: typeof readJson): Promise<Raw> => {
    try {
      return (await how(path))?.value ?? {};
    } catch (error) {
      unreadable.set(path, (error as Error).message);
      return {};
    }
  };
  const launcher = await read(paths.launcher, readJson);
  const main = await read(paths.config, readJson);
  const security = await read(paths.security, readYaml);

  const where = { home, env, brand, ...(config === undefined ? {} : { config }) };
  const form = unreadable.size === 0 ? files(where) : memory();
  const places = new Map<string, readonly TokenPlace[]>();
  const channels = [security, main].flatMap((file) => Object.keys(objectAt(file, "channels")));
  for (const name of new Set([...builtIn, ...channels])) {
    const found = await Promise.resolve(form.places?.(name) ?? []).catch((error: unknown) => {
      unreadable.set(paths.security, (error as Error).message);
      return [];
    });
    places.set(name, found);
  }
  const prefix = brand.toUpperCase();
  return {
    home,
    env,
    prefix,
    files: paths,
    unreadable,
    places,
    running,
    plugins,
    now,
    pluginEntries: main["plugins"],
    handler: main["handler"],
    foreign: [
      ...foreignVariables(env, brand),
      ...foreignInConfig(paths.config, main, isOfPlugin(main["plugins"])),
      ...foreignInLauncher(paths.launcher, launcher),
      ...foreignInSecurity(paths.security, security),
    ],
    launcher: { ...launcher, ...fromEnvironment(env, `${prefix}_LAUNCHER_`) },
    pico: {
      ...objectAt(main, "channels", "pico"),
      ...fromEnvironment(env, `${prefix}_CHANNELS_PICO_`),
    },
  };
}

/** A plugin by another author may serve any channel; its code is not run here. */
const isOfPlugin =
  (plugins: unknown) =>
  (section: string, key?: string): boolean =>
    key === undefined && section.startsWith("channels.") && Boolean(plugins);

/** What variables say, as far as checks look at it. */
function fromEnvironment(env: Environment, prefix: string): Raw {
  const fields = [
    "enabled",
    "allow_token_query",
    "allow_origins",
    "public",
    "host",
    "port",
    "trusted_proxies",
  ];
  return Object.fromEntries(
    fields.flatMap((field) => {
      const text = env[prefix + field.toUpperCase()]?.trim();
      if (!text) return [];
      return [
        [
          field,
          text === "true" || text === "1" ? true : text === "false" || text === "0" ? false : text,
        ],
      ];
    }),
  );
}
