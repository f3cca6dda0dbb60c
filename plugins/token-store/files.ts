import { createHash } from "node:crypto";
import { join } from "node:path";
import {
  editJson, editYaml, ensureHome, narrowSecret, readJson, readYaml, updateFile,
} from "../../config/files/index.ts";
import type { Log } from "../../kernel/index.ts";
import type { ResolvedToken, StoreForm, TokenName } from "./service.ts";

export interface FilesOptions {
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
const mark = (token: string): string => createHash("sha256").update(token, "utf8").digest("hex").slice(0, 16);

const text = (value: unknown): string | undefined => {
  const trimmed = typeof value === "string" ? value.trim() : "";
  return trimmed === "" ? undefined : trimmed;
};
const at = (value: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>((node, key) => {
    const inside = typeof node === "object" && node !== null && Object.hasOwn(node, key);
    return inside ? (node as Record<string, unknown>)[key] : undefined;
  }, value);

/** The keys of `launcher-config.json` that hold tokens; a channel's is in `.security.yml`, then in `config.json`. */
const launcherKeys = new Map([["launcher", "launcher_token"], ["metrics", "metrics_token"]]);

/** Tokens from the environment and from the files of the home, in the order of precedence. */
export function files({ home, env, brand = "service", config, secret, generated }: FilesOptions): StoreForm {
  const launcherFile = join(home, "launcher-config.json");
  const securityFile = join(home, ".security.yml");
  const configFile = config ?? join(home, "config.json");
  const prefix = brand.toUpperCase();
  let log: Log | undefined;
  let homeReady = false;

  const variable = (name: TokenName): string =>
    `${prefix}${launcherKeys.has(name) ? "" : "_CHANNELS"}_${name.toUpperCase()}_TOKEN`;

  async function guard(file: string): Promise<void> {
    const warning = await narrowSecret(file);
    if (warning) log?.warn({ file }, warning);
  }
  async function fromLauncherFile(name: TokenName, key: string): Promise<ResolvedToken | undefined> {
    const value = (await readJson(launcherFile))?.value;
    const token = text(at(value, key));
    if (token === undefined) return undefined;
    await guard(launcherFile);
    const setupPending = name === "launcher" && at(value, "setup_pending") === mark(token);
    return { value: token, source: "config", setupPending };
  }
  async function fromChannelFiles(name: TokenName): Promise<ResolvedToken | undefined> {
    const guarded = text(at((await readYaml(securityFile))?.value, "channels", name, "token"));
    if (guarded !== undefined) {
      await guard(securityFile);
      return { value: guarded, source: "security" };
    }
    const plain = text(at((await readJson(configFile))?.value, "channels", name, "token"));
    if (plain === undefined) return undefined;
    log?.warn(
      { name },
      `the ${name} token is in config.json, which suits development only: use .security.yml for production, ` +
        `or ${variable(name)} for containers`,
    );
    return { value: plain, source: "config" };
  }

  async function resolve(name: TokenName): Promise<ResolvedToken | undefined> {
    const given = text(env[variable(name)]);
    const key = launcherKeys.get(name);
    const stored = given ? undefined : await (key ? fromLauncherFile(name, key) : fromChannelFiles(name));
    const found: ResolvedToken | undefined = given ? { value: given, source: "env" } : stored;
    if (found) secret?.(found.value);
    return found;
  }

  async function write(name: TokenName, value: string, { setupPending }: { setupPending: boolean }): Promise<void> {
    secret?.(value);
    if (!homeReady) {
      for (const warning of (await ensureHome(home)).warnings) log?.warn({ home }, warning);
      homeReady = true;
    }
    const key = launcherKeys.get(name);
    if (key === undefined) {
      const path = ["channels", name, "token"];
      await updateFile(securityFile, (before) => editYaml(before, path, value, securityFile), { mode: 0o600 });
      return;
    }
    const pending = { path: ["setup_pending"], ...(setupPending ? { value: mark(value) } : { remove: true as const }) };
    await updateFile(
      launcherFile,
      (before) => editJson(before, [{ path: [key], value }, ...(name === "launcher" ? [pending] : [])], launcherFile),
      { mode: 0o600 },
    );
    if (setupPending) generated?.(value);
  }

  return {
    open: (own) => { log = own; },
    resolve,
    write,
    variable,
    label: (name) => (launcherKeys.has(name) ? "config" : "security"),
  };
}
