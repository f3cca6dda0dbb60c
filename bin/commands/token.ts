// `doorward token`: shows, stores and rotates tokens.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { codeOf, didYouMean } from "../../kernel/index.ts";
import type { TokenRow } from "../../plugins/dashboard/index.ts";
import { readJson } from "../../lib/files/index.ts";
import { defined, isObject } from "../../lib/util.ts";
import { exitCodes, printJson, UsageError, type CommandContext } from "./command.ts";
import { askLauncher, reportRejected } from "./control-client.ts";
import { readSecret } from "./prompt.ts";

/** Accepts any name, since channels of plugins have tokens of their own. */
const isName = (word: string): boolean => /^[a-z][a-z0-9_]*$/.test(word);

/** Asks the running launcher; if none runs, or it does not use the token, works on the files. */
export async function token(context: CommandContext): Promise<number> {
  const [what = "", name = "launcher", ...more] = context.words;
  const action = actions[what];
  if (!action || !isName(name) || more.length > 0) {
    throw new UsageError(
      '"token" takes show, source, set or rotate, then launcher (default) or a channel',
    );
  }
  const { grace = "0" } = context.values;
  const isGrace = /^\d{1,4}$/.test(String(grace)) && Number(grace) <= 3_600;
  if (!isGrace || (context.values["grace"] !== undefined && what !== "rotate"))
    throw new UsageError('"-grace" takes 0 to 3600 seconds and requires "token rotate pico"');
  if (context.values["force"] === true && what !== "set" && what !== "rotate")
    throw new UsageError('"-force" requires "token set" or "token rotate"');
  const offline = await offlineTokens(context);
  try {
    return await action(context, name, offline);
  } catch (error) {
    if (codeOf(error) === "internal") throw error;
    return reportRejected(context, { error: codeOf(error), message: (error as Error).message });
  }
}

type Action = (context: CommandContext, name: string, offline: OfflineTokens) => Promise<number>;
interface ShownToken {
  readonly name: string;
  readonly token: string;
  readonly source: string;
}

const show: Action = async (context, name, offline) => {
  const answer = await askLauncher<ShownToken>(context, "POST", "token/show", { name });
  if (answer && answer.status !== 200 && answer.status !== 404)
    return reportRejected(context, answer.body);
  const shown = answer?.status === 200 ? answer.body : await offline.show(name);
  if (!shown) {
    const hint = await hintForUnknown(context, name);
    const fix =
      name === "launcher"
        ? " The first start generates one: doorward"
        : hint || ` To generate one, run: doorward token rotate ${name}`;
    const message = `There is no ${name} token.${fix}`;
    return reportRejected(context, { error: "not_found", message });
  }
  if (context.json) printJson(context, shown);
  else context.out(`${shown.token}\n`);
  return exitCodes.done;
};

const source: Action = async (context, name, offline) => {
  const answer = await askLauncher<{ tokens: TokenRow[] }>(context, "GET", "tokens");
  if (answer && answer.status !== 200) return reportRejected(context, answer.body);
  const rows = answer?.body.tokens ?? (await offline.describe());
  const named = rows.filter((row) => row.name === name);
  // The launcher lists only the tokens it uses; tokens of plugin channels are in the files.
  const wanted =
    context.words[1] === undefined
      ? rows
      : named.length > 0
        ? named
        : await offline.describe([name]);
  if (context.json) printJson(context, { running: answer !== undefined, tokens: wanted });
  else {
    for (const { name: own, source: label, variable, managedByEnv, concern, others } of wanted) {
      context.out(
        `${own.padEnd(12)} ${label}${managedByEnv && variable ? ` (${variable})` : ""}\n`,
      );
      for (const other of others.filter(({ same }) => !same)) {
        context.say(`${" ".repeat(12)} ignored, different value: ${other.source}\n`);
      }
      if (concern !== undefined) context.say(`${" ".repeat(12)} weak: ${concern}\n`);
    }
  }
  return exitCodes.done;
};

/** Names the file with the token, if a file has it. */
function placeOf(name: string, from: string): string {
  if (from === "security") return " in .security.yml";
  if (from !== "config" && from !== "random") return ` (${from})`;
  return name === "launcher" || name === "metrics" ? " in launcher-config.json" : " in config.json";
}

/**
 * Stores a token that the running launcher does not use. A name that resembles a known one needs
 * `-force`; another unknown one may belong to a channel that a plugin will add.
 */
async function replaceOffline(
  context: CommandContext,
  name: string,
  value: string | undefined,
  offline: OfflineTokens,
): Promise<ShownToken> {
  const isForced = context.values["force"] === true;
  const hint = isForced ? undefined : await hintForUnknown(context, name);
  if (hint !== undefined && (await offline.show(name)) === undefined) {
    if (hint !== "") {
      const fix = "To store the token of a new channel, add -force";
      throw new UsageError(`no channel has the name "${name}".${hint} ${fix}`);
    }
    context.say(`warning: no channel in config.json has the name "${name}"\n`);
  }
  return offline.replace(name, value);
}

/** Stores `value`; undefined generates one. */
async function replace(
  context: CommandContext,
  name: string,
  value: string | undefined,
  offline: OfflineTokens,
): Promise<number> {
  const { grace } = context.values;
  const seconds = grace === undefined ? undefined : Number(grace);
  const body = defined({ name, token: value, grace: seconds });
  const answer = await askLauncher<ShownToken>(context, "POST", "token/replace", body);
  // A launcher that does not use the token responds 404; then this process writes the file.
  if (answer && answer.status !== 200 && answer.status !== 404)
    return reportRejected(context, answer.body);
  const stored =
    answer?.status === 200 ? answer.body : await replaceOffline(context, name, value, offline);
  const made = value === undefined;
  if (context.json) printJson(context, made ? stored : { name, source: stored.source });
  else {
    if (made) context.out(`${stored.token}\n`);
    const effect = answer?.status === 200 ? "it is in use now" : "the next start uses it";
    context.say(`the ${name} token was stored${placeOf(name, stored.source)}; ${effect}\n`);
  }
  return exitCodes.done;
}

const set: Action = async (context, name, offline) => {
  const value = await readSecret(context, `new ${name} token`);
  if (value === undefined) {
    context.say("nothing was changed\n");
    return exitCodes.failed;
  }
  if (value === "")
    throw new UsageError('"token set" reads the token from standard input, which was empty');
  return replace(context, name, value, offline);
};

const actions: Readonly<Record<string, Action>> = {
  show,
  source,
  set,
  rotate: (context, name, offline) => replace(context, name, undefined, offline),
};

const ownNames = [
  "launcher",
  "pico",
  "metrics",
  "pico_client",
  "openai",
  "ai_sdk",
  "ag_ui",
  "proxy_sign_in",
];

/** Names of tokens that Doorward, or a channel in `config.json`, uses. */
async function knownNames(home: string): Promise<ReadonlySet<string>> {
  const channels = (await readJson(join(home, "config.json")))?.value["channels"];
  return new Set([...ownNames, ...(isObject(channels) ? Object.keys(channels) : [])]);
}

/**
 * Looks for the known name that the user probably meant.
 *
 * @returns Undefined for a known name; for an unknown one ` Did you mean "…"?`, or an empty string
 *   if no known name is close.
 */
async function hintForUnknown({ home }: CommandContext, name: string): Promise<string | undefined> {
  const known = await knownNames(home);
  return known.has(name) ? undefined : didYouMean(name, known);
}

type OfflineTokens = Awaited<ReturnType<typeof offlineTokens>>;

/** Tokens that many homes do not have. */
const optionalTokens = ["pico_client", "openai", "ai_sdk", "ag_ui"];

/** Access to the tokens in the files of a home. */
async function offlineTokens({ home, env }: CommandContext) {
  const { tokenWarning, files, generateToken, tokenErrors, weakTokenReason } =
    await import("../../plugins/token-store/index.ts");
  const form = files({ home, env });
  const places = async (name: string) => (await form.places?.(name)) ?? [];

  async function describeOne(name: string): Promise<TokenRow[]> {
    const [own, ...others] = await places(name);
    const variable = form.variable?.(name);
    if (!own && optionalTokens.includes(name)) return [];
    return [
      defined({
        name,
        source: own?.source ?? "none",
        managedByEnv: own?.source === "env",
        variable,
        changedAt: own?.changedAt,
        concern: own && tokenWarning(name, own.value),
        others: others.map(({ source, value }) => ({ source, same: value === own?.value })),
      }),
    ];
  }

  return {
    async show(name: string): Promise<ShownToken | undefined> {
      const [own] = await places(name);
      return own && { name, token: own.value, source: own.source };
    },
    describe: async (names: readonly string[] = ["launcher", "pico", ...optionalTokens]) =>
      (await Promise.all(names.map(describeOne))).flat(),
    /** Stores `value`, or a generated one. Rejects `token_managed_by_env`, `weak_token`,
     *  `store_unavailable`. */
    async replace(name: string, value: string | undefined): Promise<ShownToken> {
      const [own] = await places(name);
      if (own?.source === "env")
        throw tokenErrors.token_managed_by_env(name, form.variable?.(name) ?? "of its name");
      const next = value ?? generateToken(name, randomBytes);
      const weak = weakTokenReason(next);
      if (weak) throw tokenErrors.weak_token(weak);
      await form.write(name, next, { setupPending: false });
      return { name, token: next, source: form.label?.(name) ?? "config" };
    },
  };
}
