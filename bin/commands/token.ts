import { codeOf } from "../../kernel/index.ts";
import type { TokenRow } from "../../plugins/dashboard/index.ts";
import { UsageError, exitCodes, printJson, type CommandContext } from "./command.ts";
import { askLauncher, reportRejected } from "./control-client.ts";
import { offlineTokens, type OfflineTokens } from "./offline-tokens.ts";
import { readSecret } from "./prompt.ts";

/** Tokens by the name a person types; any other channel's works too. */
const isName = (word: string): boolean => /^[a-z][a-z0-9_]*$/.test(word);

/** `doorward token show|source|set|rotate [launcher|pico]`: by the running launcher, else on the files. */
export async function token(call: CommandContext): Promise<number> {
  const [what = "", name = "launcher", ...more] = call.words;
  const action = actions[what];
  if (!action || !isName(name) || more.length > 0) {
    throw new UsageError(
      '"token" takes show, source, set or rotate, then launcher (the default) or pico',
    );
  }
  if (
    call.values["grace"] !== undefined &&
    (what !== "rotate" || !/^\d{1,4}$/.test(String(call.values["grace"])))
  ) {
    throw new UsageError('"-grace" takes seconds, 0 to 3600, and goes with "token rotate pico"');
  }
  const offline = await offlineTokens(call);
  try {
    return await action(call, name, offline);
  } catch (error) {
    if (codeOf(error) === "internal") throw error;
    return reportRejected(call, { error: codeOf(error), message: (error as Error).message });
  }
}

type Action = (call: CommandContext, name: string, offline: OfflineTokens) => Promise<number>;
interface ShownToken {
  readonly name: string;
  readonly token: string;
  readonly source: string;
}

const show: Action = async (call, name, offline) => {
  const answer = await askLauncher<ShownToken>(call, "POST", "token/show", { name });
  if (answer && answer.status !== 200 && answer.status !== 404)
    return reportRejected(call, answer.body);
  const shown = answer?.status === 200 ? answer.body : await offline.show(name);
  if (!shown)
    return reportRejected(call, { error: "not_found", message: `There is no ${name} token.` });
  if (call.json) printJson(call, shown);
  else call.out(`${shown.token}\n`);
  return exitCodes.done;
};

const source: Action = async (call, name, offline) => {
  const answer = await askLauncher<{ tokens: TokenRow[] }>(call, "GET", "tokens");
  if (answer && answer.status !== 200) return reportRejected(call, answer.body);
  const rows = answer?.body.tokens ?? (await offline.describe());
  const named = rows.filter((row) => row.name === name);
  // The launcher lists its own; of a plugin's channel the files tell.
  const wanted =
    call.words[1] === undefined ? rows : named.length > 0 ? named : await offline.describe([name]);
  if (call.json) printJson(call, { running: answer !== undefined, tokens: wanted });
  else {
    for (const { name: own, source: label, variable, managedByEnv, concern, others } of wanted) {
      call.out(`${own.padEnd(12)} ${label}${managedByEnv && variable ? ` (${variable})` : ""}\n`);
      for (const other of others.filter(({ same }) => !same)) {
        call.say(`${" ".repeat(12)} another value stands in: ${other.source}; it does not count\n`);
      }
      if (concern !== undefined) call.say(`${" ".repeat(12)} weak: ${concern}\n`);
    }
  }
  return exitCodes.done;
};

/** Gives the launcher a value, or none to let it make one. */
async function replace(
  call: CommandContext,
  name: string,
  value: string | undefined,
  offline: OfflineTokens,
): Promise<number> {
  const grace = call.values["grace"] === undefined ? {} : { grace: Number(call.values["grace"]) };
  const body = { name, ...(value === undefined ? {} : { token: value }), ...grace };
  const answer = await askLauncher<ShownToken>(call, "POST", "token/replace", body);
  // A launcher that has not claimed the token leaves its place to us.
  if (answer && answer.status !== 200 && answer.status !== 404)
    return reportRejected(call, answer.body);
  const stored = answer?.status === 200 ? answer.body : await offline.replace(name, value);
  const made = value === undefined;
  if (call.json) printJson(call, made ? stored : { name, source: stored.source });
  else {
    if (made) call.out(`${stored.token}\n`);
    const effect = answer?.status === 200 ? "it is in force now" : "it counts from the next start";
    call.say(`the ${name} token was stored (${stored.source}); ${effect}\n`);
  }
  return exitCodes.done;
}

const set: Action = async (call, name, offline) => {
  const value = await readSecret(call, `new ${name} token`);
  if (value === undefined) {
    call.say("nothing was changed\n");
    return exitCodes.failed;
  }
  if (value === "")
    throw new UsageError('"token set" reads the token from standard input; it was empty');
  return replace(call, name, value, offline);
};

const actions: Readonly<Record<string, Action>> = {
  show,
  source,
  set,
  rotate: (call, name, offline) => replace(call, name, undefined, offline),
};
