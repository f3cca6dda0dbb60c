import { stat } from "node:fs/promises";
import { readJson, readYaml, cachedByStamp, type ParsedFile } from "../../lib/files/index.ts";
import { tokenErrors } from "./errors.ts";
import type { TokenName, TokenLocation, TokenSource } from "./service.ts";

/** A token of digits alone reads as a number, which is taken when no digit can be lost. Anything else that is not text
 *  is no token and no reason to have none. */
export function tokenText(value: unknown, file = "", place = ""): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string" && !Number.isSafeInteger(value))
    throw tokenErrors.token_not_text(file, place);
  const trimmed = String(value).trim();
  return trimmed === "" ? undefined : trimmed;
}
export const valueAt = (value: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>((node, key) => {
    const inside = typeof node === "object" && node !== null && Object.hasOwn(node, key);
    return inside ? (node as Record<string, unknown>)[key] : undefined;
  }, value);

/** What a file holds. One that a token in use came from must be there: its absence says nothing about the token. */
export function requireContent(
  parsed: ParsedFile | undefined,
  file: string,
  isNeeded: boolean,
): unknown {
  if (isNeeded && (parsed === undefined || parsed.text.trim() === ""))
    throw tokenErrors.token_file_missing(file);
  return parsed?.value;
}

/** The keys of `launcher-config.json` that hold tokens; a channel's is in `.security.yml`, then in `config.json`. */
export const launcherKeys = new Map([
  ["launcher", "launcher_token"],
  ["metrics", "metrics_token"],
]);

export interface LocationsOptions {
  readonly launcherFile: string;
  readonly securityFile: string;
  readonly configFile: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly variable: (name: TokenName) => string;
}

async function readFileLocation(
  source: TokenSource,
  file: string,
  path: readonly string[],
  read: typeof readJson,
): Promise<TokenLocation[]> {
  const value = tokenText(valueAt((await read(file))?.value, ...path), file, path.join("."));
  if (value === undefined) return [];
  const changedAt = await stat(file).then(
    ({ mtimeMs }) => Math.round(mtimeMs),
    () => undefined,
  );
  return [{ source, value, ...(changedAt === undefined ? {} : { changedAt }) }];
}

/** Reads every place that holds a value of a name, highest first. */
export function createLocations({
  launcherFile,
  securityFile,
  configFile,
  env,
  variable,
}: LocationsOptions) {
  const [json, yaml] = [cachedByStamp(readJson), cachedByStamp(readYaml)];
  return async (name: TokenName): Promise<TokenLocation[]> => {
    const given = tokenText(env[variable(name)]);
    const fromEnv: TokenLocation[] = given === undefined ? [] : [{ source: "env", value: given }];
    const key = launcherKeys.get(name);
    if (key !== undefined)
      return [...fromEnv, ...(await readFileLocation("config", launcherFile, [key], json))];
    const path = ["channels", name, "token"];
    return [
      ...fromEnv,
      ...(await readFileLocation("security", securityFile, path, yaml)),
      ...(await readFileLocation("config", configFile, path, json)),
    ];
  };
}
