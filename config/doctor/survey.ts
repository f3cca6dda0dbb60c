// Collects the files, variables and launcher state that the doctor checks.
import { join } from "node:path";
import { readJson, readYaml } from "../../lib/files/index.ts";
import type { CheckView, DoctorFacts } from "../../plugins/dashboard/index.ts";
import { files, memory, type TokenLocation } from "../../plugins/token-store/index.ts";
import {
  foreignInConfig,
  foreignInLauncher,
  foreignInSecurity,
  foreignVariables,
} from "../foreign/index.ts";
import { parseBoolean } from "../load/environment.ts";
import { withoutComments, type Environment } from "../load/index.ts";
import { defined, objectAt } from "../../lib/util.ts";
import { readHomeVersion, type HomeVersion } from "../home-version.ts";

type RawSettings = Readonly<Record<string, unknown>>;

export interface Survey extends DoctorOptions {
  readonly files: { readonly launcher: string; readonly config: string; readonly security: string };
  /** Path, or name of a token in it -> reason why the file cannot be used. */
  readonly unreadable: ReadonlyMap<string, string>;
  /** Settings from files and environment, without defaults. */
  readonly launcher: RawSettings;
  readonly pico: RawSettings;
  readonly store: RawSettings;
  readonly media: RawSettings;
  readonly backup: RawSettings;
  /** Token name -> its locations, the one in effect first. */
  readonly places: ReadonlyMap<string, readonly TokenLocation[]>;
  /** Unparsed `plugins` of `config.json`. */
  readonly pluginEntries: unknown;
  /** Unparsed `handler` of `config.json`. */
  readonly handler: unknown;
  /** One sentence for each setting that only PicoClaw reads. */
  readonly foreign: readonly string[];
  /** The version that used the home last; undefined for a new home. */
  readonly lastUse: HomeVersion | undefined;
}

const builtInTokens = ["launcher", "pico", "pico_client", "openai", "ai_sdk", "ag_ui", "metrics"];

/** Reads all files and variables once. */
export async function collectSurvey(options: DoctorOptions): Promise<Survey> {
  const { home, env, config } = options;
  const paths = {
    launcher: join(home, "launcher-config.json"),
    config: config ?? join(home, "config.json"),
    security: join(home, ".security.yml"),
  };
  const unreadable = new Map<string, string>();
  const read = async (path: string, how: typeof readJson): Promise<RawSettings> => {
    try {
      return withoutComments((await how(path))?.value ?? {});
    } catch (error) {
      unreadable.set(path, (error as Error).message);
      return {};
    }
  };
  const launcher = await read(paths.launcher, readJson);
  const main = await read(paths.config, readJson);
  const security = await read(paths.security, readYaml);

  const form = unreadable.size === 0 ? files(defined({ home, env, config })) : memory();
  const places = new Map<string, readonly TokenLocation[]>();
  const channels = [security, main].flatMap((file) => Object.keys(objectAt(file, "channels")));
  for (const name of new Set([...builtInTokens, ...channels])) {
    const found = await Promise.resolve(form.places?.(name) ?? []).catch((error: unknown) => {
      unreadable.set(`token ${name}`, (error as Error).message);
      return [];
    });
    places.set(name, found);
  }
  return {
    ...options,
    files: paths,
    unreadable,
    places,
    lastUse: await readHomeVersion(home).catch(() => undefined),
    pluginEntries: main["plugins"],
    handler: main["handler"],
    foreign: [
      ...foreignVariables(env),
      ...foreignInConfig(paths.config, main, isOfPlugin(main["plugins"])),
      ...foreignInLauncher(paths.launcher, launcher),
      ...foreignInSecurity(paths.security, security),
    ],
    launcher: { ...launcher, ...settingsFromEnvironment(env, "launcher") },
    store: { ...objectAt(main, "store"), ...settingsFromEnvironment(env, "store") },
    media: { ...objectAt(main, "media"), ...settingsFromEnvironment(env, "media") },
    backup: { ...objectAt(main, "backup"), ...settingsFromEnvironment(env, "backup") },
    pico: {
      ...objectAt(main, "channels", "pico"),
      ...settingsFromEnvironment(env, "channels_pico"),
    },
  };
}

/** A third-party plugin may serve any channel; the doctor does not run its code to find out. */
const isOfPlugin =
  (plugins: unknown) =>
  (section: string, key?: string): boolean =>
    key === undefined && section.startsWith("channels.") && Boolean(plugins);

/** Settings that checks use, by section. */
const checkedFields = {
  launcher: ["public", "host", "port", "trusted_proxies"],
  store: ["kind", "path", "url", "sentinels", "name", "prefix", "replicas"],
  media: ["path"],
  backup: ["every", "path"],
  channels_pico: ["enabled", "allow_token_query", "allow_origins"],
} as const;

/** @returns The settings from variables that checks use. */
const settingsFromEnvironment = (env: Environment, section: keyof typeof checkedFields) =>
  Object.fromEntries(
    checkedFields[section].flatMap((field) => {
      const text = env[`SERVICE_${section}_${field}`.toUpperCase()]?.trim();
      return text ? [[field, parseBoolean(text) ?? text]] : [];
    }),
  );

/** @returns The items of a list from a file, or of comma-separated text from a variable. */
export const listOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value.map(String) : typeof value === "string" ? value.split(",") : [])
    .map((item) => item.trim())
    .filter((item) => item !== "");

/** Creates the results of one check; a warning or failure needs a fix. */
export function createCheck(id: string, title: string) {
  const withFix =
    (result: "warning" | "failed") =>
    (reason: string, fix: string): CheckView => ({ id, title, result, reason, fix });
  return {
    ok: (reason: string): CheckView => ({ id, title, result: "ok", reason }),
    warning: withFix("warning"),
    failed: withFix("failed"),
  };
}

/** @returns The location of a token in words; logs and the API use the plain `source`. */
export function describeTokenSource(token: string, source: string): string {
  const file = token === "launcher" ? "launcher-config.json" : "config.json";
  const words: Readonly<Record<string, string>> = {
    env: "the environment",
    security: ".security.yml",
    config: file,
    random: file,
    host: "the host application",
    none: "nowhere",
  };
  return words[source] ?? source;
}

export interface DoctorOptions {
  readonly home: string;
  readonly env: Environment;
  /** Path of `config.json`. @defaultValue in the home */
  readonly config?: string;
  /** State of a running launcher; if absent, checks send nothing over the network. */
  readonly running?: DoctorFacts;
  /** Unix milliseconds. */
  readonly now: number;
  /** Version of this program; absent: the doctor does not compare it with the last one. */
  readonly version?: string;
}
