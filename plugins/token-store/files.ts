import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../../kernel/index.ts";
import {
  cachedByStamp,
  editJson,
  editYaml,
  ensureHome,
  parseJson,
  parseYaml,
  readJson,
  readYaml,
  restrictSecretFile,
  updateFile,
  watchFiles,
  type ParsedFile,
} from "../../lib/files/index.ts";
import { tokenErrors } from "./errors.ts";
import { tokenVariable } from "./memory.ts";
import type {
  ResolvedToken,
  TokenBackend,
  TokenLocation,
  TokenName,
  TokenSource,
} from "./service.ts";

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

export interface FileBackendOptions {
  /** The folder of `config.json`, `launcher-config.json` and `.security.yml`. */
  readonly home: string;
  /** A copy of the environment; read only. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Prefix of the variables in lower case; default `service`: `SERVICE_LAUNCHER_TOKEN`. */
  readonly brand?: string;
  /** `config.json` elsewhere than in the home. */
  readonly config?: string;
  /** Told every value that is read or written, so that logs can keep it out. */
  readonly secret?: (value: string) => void;
  /** Told a generated launcher token, after it was stored. */
  readonly generated?: (value: string) => void;
}

/** First 16 hex digits of SHA-256: marks a generated token until its owner has confirmed it. */
const pendingMark = (token: string): string =>
  createHash("sha256").update(token, "utf8").digest("hex").slice(0, 16);

/** Tokens from the environment and from the files of the home, in the order of precedence. */
export function files({
  home,
  env,
  brand = "service",
  config,
  secret,
  generated,
}: FileBackendOptions): TokenBackend {
  const launcherFile = join(home, "launcher-config.json");
  const securityFile = join(home, ".security.yml");
  const configFile = config ?? join(home, "config.json");
  let log: Log | undefined;
  let homeReady = false;
  /** Names whose place in `config.json` was remarked on. */
  const advised = new Set<TokenName>();
  const asked = new Set<TokenName>();

  const variable = (name: TokenName): string => tokenVariable(name, brand);

  async function guard(file: string): Promise<void> {
    const warning = await restrictSecretFile(file);
    if (warning) log?.warn({ file }, warning);
  }
  function advise(name: TokenName): void {
    if (advised.has(name)) return;
    advised.add(name);
    const places = `use .security.yml for production, or ${variable(name)} for containers`;
    log?.warn(
      { name },
      `the ${name} token is in config.json, which suits development only: ${places}`,
    );
  }
  function inLauncher(content: unknown, name: TokenName, key: string): ResolvedToken | undefined {
    const value = tokenText(valueAt(content, key), launcherFile, key);
    if (value === undefined) return undefined;
    const setupPending =
      name === "launcher" && valueAt(content, "setup_pending") === pendingMark(value);
    return { value, source: "config", setupPending };
  }
  function inSecurity(content: unknown, name: TokenName): ResolvedToken | undefined {
    const value = tokenText(
      valueAt(content, "channels", name, "token"),
      securityFile,
      `channels.${name}.token`,
    );
    return value === undefined ? undefined : { value, source: "security" };
  }

  async function fromLauncherFile(
    name: TokenName,
    key: string,
    held?: TokenSource,
  ): Promise<ResolvedToken | undefined> {
    const isNeeded = held === "config" || held === "random";
    const found = inLauncher(
      requireContent(await readJson(launcherFile), launcherFile, isNeeded),
      name,
      key,
    );
    if (found) await guard(launcherFile);
    return found;
  }
  async function fromChannelFiles(
    name: TokenName,
    held?: TokenSource,
  ): Promise<ResolvedToken | undefined> {
    const guarded = inSecurity(
      requireContent(await readYaml(securityFile), securityFile, held === "security"),
      name,
    );
    if (guarded !== undefined) {
      await guard(securityFile);
      return guarded;
    }
    const main = requireContent(await readJson(configFile), configFile, held === "config");
    const plain = tokenText(
      valueAt(main, "channels", name, "token"),
      configFile,
      `channels.${name}.token`,
    );
    if (plain === undefined) return undefined;
    advise(name);
    return { value: plain, source: "config" };
  }

  async function resolve(name: TokenName, held?: TokenSource): Promise<ResolvedToken | undefined> {
    asked.add(name);
    const given = tokenText(env[variable(name)]);
    const key = launcherKeys.get(name);
    const stored = given
      ? undefined
      : await (key ? fromLauncherFile(name, key, held) : fromChannelFiles(name, held));
    const found: ResolvedToken | undefined = given ? { value: given, source: "env" } : stored;
    if (found) secret?.(found.value);
    return found;
  }

  /** Writes what `edit` makes of the file, unless a token has to be the first and another process was faster. */
  async function put(
    file: string,
    first: boolean,
    standing: (text: string) => ResolvedToken | undefined,
    edit: (text?: string) => string,
  ): Promise<ResolvedToken | undefined> {
    let before: ResolvedToken | undefined;
    await updateFile(
      file,
      (text) => {
        before = first && text !== undefined ? standing(text) : undefined;
        return before ? undefined : edit(text);
      },
      { mode: 0o600 },
    );
    if (before) secret?.(before.value);
    return before;
  }

  async function write(
    name: TokenName,
    value: string,
    { setupPending, first = false }: { setupPending: boolean; first?: boolean },
  ): Promise<ResolvedToken | undefined> {
    secret?.(value);
    if (!homeReady) {
      for (const warning of (await ensureHome(home)).warnings) log?.warn({ home }, warning);
      homeReady = true;
    }
    const key = launcherKeys.get(name);
    if (key === undefined) {
      const path = ["channels", name, "token"];
      return put(
        securityFile,
        first,
        (body) => inSecurity(parseYaml(body, securityFile), name),
        (body) => editYaml(body, path, value, securityFile),
      );
    }
    const pending = {
      path: ["setup_pending"],
      ...(setupPending ? { value: pendingMark(value) } : { remove: true as const }),
    };
    const edits = [{ path: [key], value }, ...(name === "launcher" ? [pending] : [])];
    const before = await put(
      launcherFile,
      first,
      (body) => inLauncher(parseJson(body, launcherFile), name, key),
      (body) => editJson(body, edits, launcherFile),
    );
    if (setupPending && !before) generated?.(value);
    return before;
  }

  return {
    open: (own) => {
      log = own;
    },
    resolve,
    write,
    places: createLocations({ launcherFile, securityFile, configFile, env, variable }),
    variable,
    watch: (changed) =>
      watchFiles([launcherFile, securityFile, configFile], async (path) => {
        const names = [...asked].filter(
          (name) => launcherKeys.has(name) === (path === launcherFile),
        );
        for (const name of names) await changed(name);
      }),
    label: (name) => (launcherKeys.has(name) ? "config" : "security"),
  };
}
