// Reads settings from environment variables.
import { didYouMean } from "../../kernel/index.ts";
import { foldLookAlikes } from "../../lib/look-alikes.ts";
import { loadErrors } from "./errors.ts";
import { envFileMarks, expectedOf } from "./env-file-marks.ts";
import type { SectionInfo } from "./sections.ts";

/** Environment variables by name, such as `process.env`. Unset variables are undefined. */
export type Environment = Readonly<Record<string, string | undefined>>;
interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
}

/** One setting that has an environment variable. */
interface Variable {
  readonly section: string;
  readonly path: readonly string[];
  readonly read: (text: string) => unknown;
  readonly expected: string;
}

/** @returns Undefined for another text. */
export const parseBoolean = (text: string): boolean | undefined =>
  text === "true" || text === "1" ? true : text === "false" || text === "0" ? false : undefined;
const parseNumber = (text: string): number | undefined =>
  /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : undefined;
const parseInteger = (text: string): number | undefined =>
  /^-?\d+$/.test(text) ? Number(text) : undefined;
const parseList = (text: string): string[] =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

function readerFor(json: JsonSchema): Pick<Variable, "read" | "expected"> {
  switch (Array.isArray(json.type) ? json.type[0] : json.type) {
    case "boolean":
      return { read: parseBoolean, expected: "true, false, 1 or 0" };
    case "integer":
      return { read: parseInteger, expected: "a whole number" };
    case "number":
      return { read: parseNumber, expected: "a number" };
    case "array":
      return { read: parseList, expected: "a comma-separated list" };
    default:
      return { read: (text) => text, expected: "text" };
  }
}

/**
 * Names the environment variable of each setting: `SERVICE_CHANNELS_PICO_MAX_CONNECTIONS` for
 * `max_connections` of `channels.pico`.
 *
 * @throws ENV_AMBIGUOUS if two settings have the same variable.
 */
export function variablesOf(
  sections: readonly SectionInfo[],
  brand: string,
): Map<string, Variable> {
  const variables = new Map<string, Variable>();
  const add = (section: string, path: readonly string[], json: JsonSchema): void => {
    if (json.properties) {
      for (const [key, inner] of Object.entries(json.properties))
        add(section, [...path, key], inner);
      return;
    }
    const name = [brand, ...section.split("."), ...path].join("_").toUpperCase();
    const taken = variables.get(name);
    const full = [section, ...path].join(".");
    if (taken) throw loadErrors.ENV_AMBIGUOUS(name, [taken.section, ...taken.path].join("."), full);
    variables.set(name, { section, path, ...readerFor(json) });
  };
  for (const { section, properties } of sections) {
    for (const [key, json] of Object.entries(properties)) add(section, [key], json as JsonSchema);
  }
  return variables;
}

interface EnvironmentSettings {
  /** Section -> its values from the environment, nested. */
  readonly values: ReadonlyMap<string, Record<string, unknown>>;
  /** Section -> field -> the environment variable that sets it. */
  readonly managed: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly warnings: readonly string[];
}

type VariableMap = ReadonlyMap<string, Variable>;
export function readEnvironment(
  env: Environment,
  variableMap: VariableMap,
  brand: string,
): EnvironmentSettings {
  const values = new Map<string, Record<string, unknown>>();
  const managed = new Map<string, Map<string, string>>();
  for (const [name, { section, path, read, expected }] of variableMap) {
    const text = env[name]?.trim();
    if (!text) continue;
    const value = read(text);
    if (value === undefined) throw loadErrors.ENV_BAD_VALUE(name, expectedOf(expected, text));
    const target = values.get(section) ?? {};
    values.set(section, target);
    const inner = path.slice(0, -1).reduce<Record<string, unknown>>((node, key) => {
      node[key] ??= {};
      return node[key] as Record<string, unknown>;
    }, target);
    inner[path.at(-1)!] = value;
    managed.set(section, (managed.get(section) ?? new Map<string, string>()).set(path[0]!, name));
  }
  assertExactNames(env, [...variableMap.keys(), ...secretVariables(brand)]);
  const warnings = [...envFileMarks(env, brand), ...findMisspelt(env, variableMap, brand)];
  return { values, managed, warnings };
}

/** Variables with secrets, which other code reads. */
const isSecret = (name: string): boolean => /_(TOKEN|STORE_SECRET|STORE_PASSWORD)$/.test(name);

/** Variables of tokens and of the folder, which other code reads. */
const secretVariables = (brand: string): string[] =>
  ["home", "launcher_token", "metrics_token", "store_secret", "store_password"]
    .concat(channelNames.map((name) => `channels_${name}_token`))
    .map((name) => `${brand}_${name}`.toUpperCase());
const channelNames = ["pico", "pico_client", "openai", "ai_sdk", "ag_ui"];

/** @throws ENV_LOOKS_LIKE for a variable that a reader takes for a known one. */
function assertExactNames(env: Environment, known: readonly string[]): void {
  // On Windows, capitals do not matter.
  if (process.platform === "win32") return;
  const byFold = new Map(known.map((name) => [foldLookAlikes(name), name]));
  for (const name of Object.keys(env)) {
    const meant = byFold.get(foldLookAlikes(name));
    if (meant !== undefined && !known.includes(name)) throw loadErrors.ENV_LOOKS_LIKE(name, meant);
  }
}

/** @returns A warning for each unused variable with the prefix that resembles a known one. */
function findMisspelt(env: Environment, variableMap: VariableMap, brand: string): string[] {
  const prefix = `${brand.toUpperCase()}_`;
  return Object.keys(env)
    .filter((name) => name.startsWith(prefix) && !variableMap.has(name) && !isSecret(name))
    .flatMap((name) => {
      const meant = didYouMean(name, variableMap.keys());
      return meant ? [`the environment variable ${name} is not a setting.${meant}`] : [];
    });
}
