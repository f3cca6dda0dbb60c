// `doorward key`: creates, lists, rotates and revokes keys of devices and scripts.
import { open, rm } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { formatUtc } from "../../lib/util.ts";
import type { KeysView, KeyView, NewKeyView } from "../../plugins/dashboard/index.ts";
import { sanitizeLine } from "../client/text.ts";
import { exitCodes, printJson, UsageError, type CommandContext } from "./command.ts";
import { askAndPrint, askAndUse } from "./control-client.ts";
import { toSeconds } from "./duration.ts";

const usage = '"key" takes create NAME, list, rotate NAME or revoke NAME';

/** Option -> the actions that take it. */
const optionsOf: Readonly<Record<string, readonly string[]>> = {
  can: ["create"],
  sessions: ["create"],
  protocols: ["create"],
  expires: ["create"],
  grace: ["rotate"],
  out: ["create", "rotate"],
  all: ["list"],
};

const listOf = (text: string): string[] => text.split(",").map((item) => item.trim());

const textOf = ({ values }: CommandContext, option: string): string | undefined => {
  const value = values[option];
  return typeof value === "string" ? value : undefined;
};

export async function key(context: CommandContext): Promise<number> {
  const [what = "", name, ...more] = context.words;
  const action = actions[what];
  const takesName = what !== "list";
  if (!action || more.length > 0 || (name === undefined) === takesName) throw new UsageError(usage);
  for (const [option, allowed] of Object.entries(optionsOf))
    if (context.values[option] !== undefined && !allowed.includes(what))
      throw new UsageError(`"-${option}" requires "key ${allowed.join('" or "key ')}"`);
  return action(context, name ?? "");
}

type Action = (context: CommandContext, name: string) => Promise<number>;

const create: Action = async (context, name) => {
  const [can, sessions, protocols, expires] = ["can", "sessions", "protocols", "expires"].map(
    (option) => textOf(context, option),
  );
  const isWord = sessions === "own" || sessions === "all";
  const body = {
    name,
    ...(can !== undefined && { scopes: listOf(can) }),
    ...(sessions !== undefined && { sessions: isWord ? sessions : listOf(sessions) }),
    ...(protocols !== undefined && { protocols: listOf(protocols) }),
    ...(expires !== undefined && { expiresInS: toSeconds("expires", expires) }),
  };
  return askForSecret(context, ["POST", "keys", body]);
};

const rotate: Action = (context, name) => {
  const given = textOf(context, "grace");
  const grace = given === undefined ? {} : { grace: toSeconds("grace", given) };
  return askForSecret(context, ["POST", "keys/rotate", { name, ...grace }]);
};

const rightsOf = ({ scopes, sessions }: Pick<KeyView, "scopes" | "sessions">): string => {
  const isWord = sessions === "own" || sessions === "all";
  const where = isWord ? `${sessions} sessions` : [sessions].flat().join(", ");
  return `${scopes.join(", ")} in ${where}`;
};

/** The file is created first: a secret that cannot be written is lost. */
async function askForSecret(
  context: CommandContext,
  request: readonly [string, string, object],
): Promise<number> {
  const path = textOf(context, "out");
  const file = path === undefined ? undefined : await openNew(path);
  let isWritten = false;
  try {
    return await askAndUse<NewKeyView>(context, request, async ({ secret, ...made }) => {
      await file?.writeFile(`${secret}\n`);
      isWritten = true;
      if (context.json) printJson(context, file ? made : { ...made, secret });
      else if (!file) context.out(`${secret}\n`);
      const { id, expiresAt } = made.key;
      const end = expiresAt === undefined ? "" : `, until ${formatUtc(expiresAt)}`;
      const place = file ? `written to ${path}` : "it is not shown again";
      if (!context.json) context.say(`key ${id} may ${rightsOf(made.key)}${end}; ${place}\n`);
      sayClosed(context, made);
    });
  } finally {
    await file?.close();
    if (path !== undefined && !isWritten) await rm(path);
  }
}

/** Says that clients do not find the channel, and the fix. */
function sayClosed(context: CommandContext, { closed }: Pick<KeysView, "closed">): void {
  if (closed !== undefined && !context.json) context.say(`${closed}\n`);
}

/** @throws UsageError if there is a file. */
async function openNew(path: string): Promise<FileHandle> {
  try {
    return await open(path, "wx", 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new UsageError(`"-out": there is a file ${path} already`);
  }
}

const list: Action = (context) =>
  askAndPrint<KeysView>(context, ["GET", "keys"], ({ keys, ...channel }) => {
    const shown = keys.filter(({ state }) => context.values["all"] === true || state !== "revoked");
    for (const each of shown) context.out(`${describe(each)}\n`);
    if (shown.length === 0)
      context.say(context.hinted("there is no key; create one with: doorward key create NAME\n"));
    sayClosed(context, channel);
  });

function describe(key: KeyView): string {
  const { id, name, state, protocols, expiresAt, lastUsedAt, lastAddress = "", revokedAt } = key;
  const ends = [
    state === "expired" ? "expired" : "",
    state === "active" && expiresAt !== undefined ? `until ${formatUtc(expiresAt)}` : "",
    revokedAt === undefined ? "" : `revoked ${formatUtc(revokedAt)}`,
  ];
  const used =
    lastUsedAt === undefined ? "never used" : `used ${formatUtc(lastUsedAt)} from ${lastAddress}`;
  const facts = [rightsOf(key), `for ${protocols.join(", ")}`, ...ends, used];
  return `${id}  ${sanitizeLine(name)}: ${sanitizeLine(facts.filter(Boolean).join(", "))}`;
}

const revoke: Action = (context, name) =>
  askAndUse<KeyView>(context, ["POST", "keys/revoke", { name }], (revoked) => {
    if (context.json) printJson(context, revoked);
    else context.say(`revoked ${revoked.id}; its connections are closed\n`);
    return exitCodes.done;
  });

const actions: Readonly<Record<string, Action>> = { create, list, rotate, revoke };
