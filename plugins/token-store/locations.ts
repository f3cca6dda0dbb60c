/** Reads tokens from parsed files and lists the locations of a token. */
import { stat } from "node:fs/promises";
import {
  cachedByStamp,
  findJsonText,
  findYamlText,
  readJson,
  readYaml,
  type FoundText,
  type ParsedFile,
} from "../../lib/files/index.ts";
import { tokenErrors } from "./errors.ts";
import type { TokenLocation, TokenName, TokenSource } from "./service.ts";

/** Token name -> key in `launcher-config.json`. The tokens of channels are in `.security.yml`, or
 *  in `config.json`. */
export const launcherKeys = new Map([
  ["launcher", "launcher_token"],
  ["metrics", "metrics_token"],
]);

/**
 * Takes a token from what was found in a file.
 *
 * @returns The trimmed text, or undefined if there is no value.
 * @throws token_not_text if there is a value that is not a text: such a mistake must not mean "no
 *   token".
 */
export function tokenIn(found: FoundText | undefined): string | undefined {
  const { text, problem } = found ?? {};
  if (problem) throw tokenErrors.token_not_text(problem.place, problem.key, problem.expected);
  return text?.trim();
}

/**
 * Returns the content of a file. If a token in use came from this file, the file must exist: a
 * missing file does not mean that the token was removed.
 */
export function requireContent(
  parsed: ParsedFile | undefined,
  file: string,
  isNeeded: boolean,
): ParsedFile | undefined {
  if (isNeeded && (parsed === undefined || parsed.text.trim() === ""))
    throw tokenErrors.token_file_missing(file);
  return parsed;
}

interface LocationsOptions {
  readonly launcherFile: string;
  readonly securityFile: string;
  readonly configFile: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly variable: (name: TokenName) => string;
}

async function readFileLocation(
  source: TokenSource,
  file: string,
  lookUp: (file: string) => Promise<FoundText | undefined>,
): Promise<TokenLocation[]> {
  const value = tokenIn(await lookUp(file));
  if (value === undefined) return [];
  const changedAt = await stat(file).then(
    ({ mtimeMs }) => Math.round(mtimeMs),
    () => undefined,
  );
  return [{ source, value, ...(changedAt === undefined ? {} : { changedAt }) }];
}

/** Creates a function that reads all locations of a token, in the order of precedence. */
export function createLocations({
  launcherFile,
  securityFile,
  configFile,
  env,
  variable,
}: LocationsOptions) {
  const [json, yaml] = [cachedByStamp(readJson), cachedByStamp(readYaml)];
  const inJson = (keys: readonly string[]) => async (file: string) => {
    const content = await json(file);
    return content && findJsonText(content, keys, file);
  };
  const inYaml = (keys: readonly string[]) => async (file: string) => {
    const content = await yaml(file);
    return content && findYamlText(content, keys, file);
  };
  return async (name: TokenName): Promise<TokenLocation[]> => {
    const value = env[variable(name)]?.trim();
    const fromEnv: TokenLocation[] = value ? [{ source: "env", value }] : [];
    const key = launcherKeys.get(name);
    if (key !== undefined)
      return [...fromEnv, ...(await readFileLocation("config", launcherFile, inJson([key])))];
    const keys = ["channels", name, "token"];
    return [
      ...fromEnv,
      ...(await readFileLocation("security", securityFile, inYaml(keys))),
      ...(await readFileLocation("config", configFile, inJson(keys))),
    ];
  };
}
