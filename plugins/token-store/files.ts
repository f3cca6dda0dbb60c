/** Token backend on environment variables and the files of the home. */
import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Awaitable, Log, Release } from "../../kernel/index.ts";
import {
  cachedByStamp,
  editJson,
  editYaml,
  ensureHome,
  findJsonText,
  findYamlText,
  parseJson,
  parseYaml,
  readJson,
  readYaml,
  restrictSecretFile,
  updateFile,
  watchFiles,
  type FileWatch,
  type FoundText,
  type ParsedFile,
} from "../../lib/files/index.ts";
import { tokenErrors } from "./errors.ts";
import type {
  ResolvedToken,
  TokenBackend,
  TokenLocation,
  TokenName,
  TokenSource,
} from "./service.ts";
import { tokenVariable } from "./token.ts";

/** Token name -> key in `launcher-config.json`. The tokens of channels are in `.security.yml`, or
 *  in `config.json`. */
const launcherKeys = new Map([
  ["launcher", "launcher_token"],
  ["metrics", "metrics_token"],
]);

/**
 * Takes a token from what was found in a file.
 *
 * @returns The trimmed text, or undefined if there is no value.
 * @throws token_not_text for other values: such a mistake must not mean "no token".
 */
function tokenIn({ text, problem }: FoundText): string | undefined {
  if (problem) throw tokenErrors.token_not_text(problem.place, problem.key, problem.expected);
  return text?.trim();
}
type Keys = readonly string[];
type Content = ParsedFile | undefined;
const jsonToken = (content: Content, keys: Keys, file: string): string | undefined =>
  content && tokenIn(findJsonText(content, keys, file));
const yamlToken = (content: Content, keys: Keys, file: string): string | undefined =>
  content && tokenIn(findYamlText(content, keys, file));

/**
 * Returns the content of a file. If a token in use came from this file, the file must exist: a
 * missing file does not mean that the token was removed.
 */
function requireContent(parsed: Content, file: string, isNeeded: boolean): Content {
  if (isNeeded && (parsed === undefined || parsed.text.trim() === ""))
    throw tokenErrors.token_file_missing(file);
  return parsed;
}

async function toLocations(
  source: TokenSource,
  file: string,
  value: string | undefined,
): Promise<TokenLocation[]> {
  if (value === undefined) return [];
  const changedAt = await stat(file).then(
    ({ mtimeMs }) => Math.round(mtimeMs),
    () => undefined,
  );
  return [{ source, value, ...(changedAt === undefined ? {} : { changedAt }) }];
}

/** Options of `files()`. */
export interface FileBackendOptions {
  /** The directory of `config.json`, `launcher-config.json` and `.security.yml`. */
  readonly home: string;
  /** A copy of the environment; it is only read. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Prefix of the environment variables, in lower case. @defaultValue `"service"`, as in
   *  `SERVICE_LAUNCHER_TOKEN` */
  readonly brand?: string;
  /** Path of `config.json`. @defaultValue in the home */
  readonly config?: string;
  /** Receives every value that is read or written, so that logs can redact it. */
  readonly secret?: (value: string) => void;
  /** Receives a generated launcher token after it was stored. */
  readonly generated?: (value: string) => void;
}

/** First 16 hex digits of SHA-256. They mark a generated token until its owner confirms it. */
const pendingMark = (token: string): string =>
  createHash("sha256").update(token, "utf8").digest("hex").slice(0, 16);

/**
 * Creates a backend that reads tokens from the environment, then from the files of the home. It
 * writes to the files.
 *
 * @throws FILE_CORRUPT from its calls if a file cannot be parsed.
 * @example
 * import { files, tokenStore } from "doorward/plugins/token-store";
 * const store = tokenStore(files({ home, env: process.env }));
 */
export function files(options: FileBackendOptions): TokenBackend {
  const backend = new FileBackend(options);
  return {
    open: (log) => backend.open(log),
    resolve: (name, held) => backend.resolve(name, held),
    write: (name, value, writeOptions) => backend.write(name, value, writeOptions),
    places: (name) => backend.places(name),
    variable: (name) => backend.variable(name),
    watch: (changed) => backend.watch(changed),
    label: (name) => (launcherKeys.has(name) ? "config" : "security"),
  };
}

class FileBackend {
  private readonly options: FileBackendOptions;
  private readonly launcherFile: string;
  private readonly securityFile: string;
  private readonly configFile: string;
  private readonly readJson = cachedByStamp(readJson);
  private readonly readYaml = cachedByStamp(readYaml);
  private log: Log | undefined;
  private watched: FileWatch | undefined;
  private isHomeReady = false;
  /** Tokens in `config.json` that were warned about. */
  private readonly warned = new Set<TokenName>();
  private readonly resolved = new Set<TokenName>();

  constructor(options: FileBackendOptions) {
    const { home, config } = options;
    this.options = options;
    this.launcherFile = join(home, "launcher-config.json");
    this.securityFile = join(home, ".security.yml");
    this.configFile = config ?? join(home, "config.json");
  }

  open(log: Log): void {
    this.log = log;
  }

  variable(name: TokenName): string {
    return tokenVariable(name, this.options.brand);
  }

  /** @returns All locations of a token, in the order of precedence. */
  async places(name: TokenName): Promise<TokenLocation[]> {
    const { launcherFile, securityFile, configFile } = this;
    const value = this.options.env[this.variable(name)]?.trim();
    const fromEnv: TokenLocation[] = value ? [{ source: "env", value }] : [];
    const inJson = async (keys: Keys, file: string) =>
      toLocations("config", file, jsonToken(await this.readJson(file), keys, file));
    const key = launcherKeys.get(name);
    if (key !== undefined) return [...fromEnv, ...(await inJson([key], launcherFile))];
    const keys = ["channels", name, "token"];
    const inYaml = yamlToken(await this.readYaml(securityFile), keys, securityFile);
    const secure = await toLocations("security", securityFile, inYaml);
    return [...fromEnv, ...secure, ...(await inJson(keys, configFile))];
  }

  async resolve(name: TokenName, held?: TokenSource): Promise<ResolvedToken | undefined> {
    this.resolved.add(name);
    const value = this.options.env[this.variable(name)]?.trim();
    const key = launcherKeys.get(name);
    let found: ResolvedToken | undefined;
    if (value) found = { value, source: "env" };
    else if (key) found = await this.fromLauncherFile(name, key, held);
    else found = await this.fromChannelFiles(name, held);
    if (found) this.options.secret?.(found.value);
    return found;
  }

  async write(
    name: TokenName,
    value: string,
    { setupPending, first = false }: { setupPending: boolean; first?: boolean },
  ): Promise<ResolvedToken | undefined> {
    const { launcherFile, securityFile, options } = this;
    options.secret?.(value);
    await this.prepareHome();
    const key = launcherKeys.get(name);
    if (key === undefined) {
      const path = ["channels", name, "token"];
      return this.put(
        securityFile,
        first,
        (text) => this.parseSecurity({ text, value: parseYaml(text, securityFile) }, name),
        (text) => editYaml(text, path, value, securityFile),
      );
    }
    const pending = {
      path: ["setup_pending"],
      ...(setupPending ? { value: pendingMark(value) } : { remove: true as const }),
    };
    const edits = [{ path: [key], value }, ...(name === "launcher" ? [pending] : [])];
    const before = await this.put(
      launcherFile,
      first,
      (text) => this.parseLauncher({ text, value: parseJson(text, launcherFile) }, name, key),
      (text) => editJson(text, edits, launcherFile),
    );
    if (setupPending && !before) options.generated?.(value);
    return before;
  }

  watch(changed: (name: TokenName) => Awaitable<void>): Release {
    const { launcherFile, securityFile, configFile } = this;
    const watch = watchFiles([launcherFile, securityFile, configFile], async (path) => {
      const names = [...this.resolved].filter(
        (name) => launcherKeys.has(name) === (path === launcherFile),
      );
      for (const name of names) await changed(name);
    });
    this.watched = watch;
    return () => watch.stop();
  }

  private async prepareHome(): Promise<void> {
    if (this.isHomeReady) return;
    const { home } = this.options;
    for (const warning of (await ensureHome(home)).warnings) this.log?.warn({ home }, warning);
    this.isHomeReady = true;
  }

  private async restrict(file: string): Promise<void> {
    const warning = await restrictSecretFile(file);
    if (warning) this.log?.warn({ file }, warning);
  }

  private warnAboutConfig(name: TokenName): void {
    if (this.warned.has(name)) return;
    this.warned.add(name);
    const advice = `use .security.yml for production, or ${this.variable(name)} for containers`;
    this.log?.warn(
      { name },
      `the ${name} token is in config.json, which is for development only: ${advice}`,
    );
  }

  private parseLauncher(content: Content, name: TokenName, key: string): ResolvedToken | undefined {
    const value = jsonToken(content, [key], this.launcherFile);
    if (value === undefined) return undefined;
    const setupPending =
      name === "launcher" && content?.value["setup_pending"] === pendingMark(value);
    return { value, source: "config", setupPending };
  }

  private parseSecurity(content: Content, name: TokenName): ResolvedToken | undefined {
    const value = yamlToken(content, ["channels", name, "token"], this.securityFile);
    return value === undefined ? undefined : { value, source: "security" };
  }

  private async fromLauncherFile(
    name: TokenName,
    key: string,
    held?: TokenSource,
  ): Promise<ResolvedToken | undefined> {
    const { launcherFile } = this;
    const isNeeded = held === "config" || held === "random";
    const content = requireContent(await readJson(launcherFile), launcherFile, isNeeded);
    const found = this.parseLauncher(content, name, key);
    if (found) await this.restrict(launcherFile);
    return found;
  }

  private async fromChannelFiles(
    name: TokenName,
    held?: TokenSource,
  ): Promise<ResolvedToken | undefined> {
    const { securityFile, configFile } = this;
    const security = await readYaml(securityFile);
    const found = this.parseSecurity(
      requireContent(security, securityFile, held === "security"),
      name,
    );
    if (found !== undefined) {
      await this.restrict(securityFile);
      return found;
    }
    const config = requireContent(await readJson(configFile), configFile, held === "config");
    const value = jsonToken(config, ["channels", name, "token"], configFile);
    if (value === undefined) return undefined;
    this.warnAboutConfig(name);
    return { value, source: "config" };
  }

  /**
   * Writes the edited file. With `first` it keeps the token that another process has stored.
   *
   * @returns The kept token, or undefined if the file was written.
   */
  private async put(
    file: string,
    first: boolean,
    parse: (text: string) => ResolvedToken | undefined,
    edit: (text?: string) => string,
  ): Promise<ResolvedToken | undefined> {
    let before: ResolvedToken | undefined;
    let expect = (): void => undefined;
    await updateFile(
      file,
      (text) => {
        before = first && text !== undefined ? parse(text) : undefined;
        if (before) return undefined;
        const after = edit(text);
        expect = () => this.watched?.expect(file, text, after);
        return after;
      },
      { mode: 0o600 },
    );
    expect();
    if (before) this.options.secret?.(before.value);
    return before;
  }
}
