// `doorward backup` and `doorward restore`.
import { randomBytes } from "node:crypto";
import { codeOf } from "../../kernel/index.ts";
import { createBackup, toMade, type BackupResult } from "../../config/backup/create.ts";
import { restoreBackup, type RestoreResult } from "../../config/backup/restore.ts";
import type { BackupPlaces } from "../../config/backup/places.ts";
import { noteFailed, noteMade } from "../../plugins/backup/index.ts";
import { describeUnreadable, readRegularFile } from "../../lib/files/index.ts";
import { isRunning } from "../banner.ts";
import { sanitizeLine } from "../client/text.ts";
import { UsageError, exitCodes, printJson, type CommandContext } from "./command.ts";
import { askLauncher } from "./control-client.ts";
import { readSecret } from "./prompt.ts";

const maxPassphraseBytes = 4_096;

/** Reads the passphrase from the file of the option, else from the terminal. */
async function readPassphrase(context: CommandContext, isNew: boolean): Promise<string> {
  const path = context.values["passphrase-file"];
  if (typeof path === "string") {
    const bytes = await readRegularFile(path, maxPassphraseBytes).catch((error: unknown) => {
      throw new Error(`Cannot read the passphrase from ${path}: ${describeUnreadable(error)}.`, {
        cause: error,
      });
    });
    return bytes.toString("utf8").replace(/\r?\n$/, "");
  }
  if (!context.stdin.isTTY)
    throw new UsageError(
      "Without a terminal, the passphrase comes from a file: -passphrase-file FILE" +
        (isNew ? "" : ", or leave the tokens out: -no-tokens"),
    );
  const passphrase = await readSecret(context, "passphrase of the tokens", isNew);
  if (!passphrase) throw new UsageError("The passphrase is empty; nothing was changed");
  return passphrase;
}

function fileOf({ words }: CommandContext, name: string): string {
  const [file = "", ...others] = words;
  if (file === "" || others.length > 0)
    throw new UsageError(`Name one file: doorward ${name} doorward.tar`);
  return file;
}

const sizeOf = (bytes: number): string =>
  bytes < 1_048_576 ? `${Math.ceil(bytes / 1_024)} KiB` : `${Math.round(bytes / 1_048_576)} MiB`;

const countOf = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`;

interface Content {
  readonly conversations?: number;
  readonly files: number;
  readonly tokens: boolean;
}

const contentOf = ({ conversations, files, tokens }: Content): string =>
  [
    ...(conversations === undefined ? [] : [countOf(conversations, "conversation")]),
    countOf(files, "file"),
    ...(tokens ? ["tokens and sign-ins"] : []),
  ].join(", ");

/** Makes a backup of the home, also while its launcher runs. */
export async function backup(context: CommandContext): Promise<number> {
  const { home, env, version, values } = context;
  const file = fileOf(context, "backup");
  if (values["tokens"] !== true && values["passphrase-file"] !== undefined)
    throw new UsageError('"-passphrase-file" requires -tokens');
  const passphrase = values["tokens"] === true ? await readPassphrase(context, true) : undefined;
  // A launcher may run with other variables than this command.
  const running = await askLauncher<{ places: BackupPlaces }>(context, "GET", "backup");
  const places = running?.status === 200 ? running.body.places : undefined;
  const now = Date.now();
  const seal = passphrase === undefined ? undefined : { passphrase, random: randomBytes };
  const options = { home, env, file, places, seal, version, now };
  const result = await createBackup(options).catch(async (error: Error) => {
    // The disk of the home may be full, too: the reason of the failure is more important.
    if (codeOf(error) === "BACKUP_FAILED")
      await noteFailed(home, error.message, now).catch(() => undefined);
    throw error;
  });
  await noteMade(home, toMade(result), now).catch(({ message }: Error) =>
    context.say(`warning: the home does not know of this backup: ${message}\n`),
  );
  if (context.json) printJson(context, result);
  else describeBackup(context, result);
  return exitCodes.done;
}

function describeBackup(
  { out, say }: CommandContext,
  { file, bytes, store, files, tokens, notes }: BackupResult,
): void {
  const content = contentOf({ ...store, files, tokens });
  out(`${sanitizeLine(file)} is complete and was checked: ${content}, ${sizeOf(bytes)}\n`);
  for (const note of notes) say(`note: ${sanitizeLine(note)}\n`);
}

/** Restores a backup to the home. */
export async function restore(context: CommandContext): Promise<number> {
  const { home, env, values } = context;
  const file = fileOf(context, "restore");
  const result = await restoreBackup({
    home,
    file,
    replace: values["replace"] === true,
    ...(values["tokens"] !== false && { passphrase: () => readPassphrase(context, false) }),
    isRunning: () => isRunning(home, env),
    now: Date.now(),
  });
  if (context.json) printJson(context, result);
  else describeRestore(context, result);
  return exitCodes.done;
}

function describeRestore(
  { out, say }: CommandContext,
  { home, header, files, tokens, aside, left }: RestoreResult,
): void {
  const made = `${header.createdAt.slice(0, 19).replace("T", " ")} UTC`;
  const content = contentOf({ ...header.store, files, tokens });
  out(`${home} has the state of ${sanitizeLine(made)}: ${content}\n`);
  if (aside !== undefined) say(`note: the former home is now ${aside}\n`);
  if (left.length > 0)
    say(`note: the backup does not have ${left.map(sanitizeLine).join(", ")} of the former home\n`);
  if (!tokens) say("note: tokens were not restored; the next start generates a launcher token\n");
  say("To start: doorward\n");
}
