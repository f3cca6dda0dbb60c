import { createHash } from "node:crypto";
import { codeOf, type Scope } from "../../kernel/index.ts";
import { clearToken, setToken, type TokenRecord } from "./token.ts";
import { replacements } from "./replacement.ts";
import { tokenWarning, invalidTokenReason } from "./rules.ts";
import type { ResolvedToken, TokenBackend, TokenName, TokenStoreShape } from "./service.ts";

/** Follows edits of the places a form keeps tokens in: compares what stands there with what is held. */
export function watchTokens(
  form: TokenBackend,
  scope: Scope<TokenStoreShape>,
  tokens: ReadonlyMap<TokenName, TokenRecord>,
) {
  const { log, lifecycle, emit, clock } = scope;
  /** Name -> the last thing said about it: an odd file is looked at often and reported once. */
  const said = new Map<TokenName, string>();
  /** Name -> digest of what stands below the environment. */
  const below = new Map<TokenName, string>();

  function once(name: TokenName, text: string, fields: object = {}): void {
    if (said.get(name) === text) return;
    said.set(name, text);
    log.warn({ name, ...fields }, text);
  }

  /** Reads the places until nothing else has replaced the token meanwhile; `undefined`: they could not be read. */
  async function read(
    name: TokenName,
    token: TokenRecord,
  ): Promise<{ found: ResolvedToken | undefined } | undefined> {
    for (;;) {
      await token.replacing;
      const { newest } = token;
      try {
        const found = await form.resolve(name, token.source);
        if (token.replacing === undefined && token.newest === newest) return { found };
      } catch (error) {
        const reason =
          codeOf(error) === "internal" ? "" : ` (${(error as Error).message.replace(/\.$/, "")})`;
        if (token.version > 0)
          once(name, `the ${name} token stays as it was: its file cannot be used${reason}`);
        return undefined;
      }
    }
  }

  async function lookBelow(name: TokenName): Promise<void> {
    const places = await Promise.resolve(form.places?.(name) ?? []).catch(() => []);
    const stored = places
      .flatMap(({ source, value }) => (source === "env" ? [] : [value]))
      .join("\n");
    const now = createHash("sha256").update(stored).digest("base64");
    const before = below.get(name);
    below.set(name, now);
    if (before === undefined || before === now || said.has(name)) return;
    said.set(name, "env");
    log.info(
      { name },
      `the ${name} token comes from the environment: an edit of the files changes nothing`,
    );
  }

  function adopt(name: TokenName, token: TokenRecord, found: ResolvedToken, value: string): void {
    const state = lifecycle.state();
    // Another launcher of this home has made one: its owner has not chosen yet.
    const isPending = state === "setup" && found.setupPending === true;
    const life = name === "launcher" && !isPending ? replacements[state] : undefined;
    if (life?.begin) lifecycle.send(life.begin);
    setToken(token, value);
    token.source = found.source;
    token.setupPending = isPending;
    token.changedAt = clock.now();
    emit("token-store:rotated", { name, version: token.version, graceS: 0 });
    if (life) lifecycle.send(life.finish);
    log.info({ name, source: found.source }, `the ${name} token was replaced by an edit`);
    const doubt = tokenWarning(name, value);
    if (doubt) log.warn({ name, source: found.source }, `the ${name} token is weak: ${doubt}`);
  }

  /** The same value: what may have changed is where it stands and whether its owner confirmed it. */
  function confirm(name: TokenName, token: TokenRecord, found: ResolvedToken): void {
    if (token.source !== "random") token.source = found.source;
    if (!token.setupPending || found.setupPending) return;
    token.setupPending = false;
    if (name === "launcher" && lifecycle.send("finish-setup"))
      log.info({ name }, "setup was finished by an edit");
  }

  function remove(name: TokenName, token: TokenRecord): void {
    if (name === "launcher")
      return once(name, `the ${name} token stays as it was: its file no longer holds one`);
    clearToken(token);
    emit("token-store:removed", { name });
    log.warn({ name }, `the ${name} token was removed by an edit: nobody gets in with it any more`);
  }

  return {
    /** A token of the environment was claimed: what stands below it now is no edit. */
    note: lookBelow,
    async look(name: TokenName): Promise<void> {
      const token = tokens.get(name);
      if (!token) return;
      if (token.source === "env") return lookBelow(name);
      const reading = await read(name, token);
      if (!reading) return;
      const value = reading.found?.value.trim();
      if (!reading.found || !value) return token.version > 0 ? remove(name, token) : undefined;
      const refusal = invalidTokenReason(value);
      if (refusal)
        return once(name, `the new ${name} token was refused and the old one stays: ${refusal}`);
      said.delete(name);
      if (value === token.value) confirm(name, token, reading.found);
      else adopt(name, token, reading.found, value);
    },
  };
}
