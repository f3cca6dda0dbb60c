// Errors of the SQLite store.
import { dirname } from "node:path";
import { errorTable } from "../../../kernel/index.ts";

const quote = (path: string): string => `'${path.replaceAll("'", "'\\''")}'`;

/** The command that moves a file aside, together with the files that SQLite keeps next to it. */
export function moveAside(path: string): string {
  const folder = quote(`${dirname(path)}/broken`);
  return `mkdir -p ${folder} && mv ${quote(path)}* ${folder}`;
}

export const storeErrors = errorTable({
  STORE_IN_USE: (path: string, holder: string) =>
    `The conversation store ${path} is in use by ${holder}. Stop it, or set another "store.path".`,
  STORE_BROKEN: (path: string, problem: string) =>
    `${path} cannot be used as the conversation store: ${problem}. Move it aside with: ` +
    moveAside(path),
  STORE_NEWER: (path: string, found: number, known: number) =>
    `${path} was written by a newer version of Doorward (schema ${found}, and this one knows ` +
    `${known}): update Doorward, or restore a backup of this version with "doorward restore FILE ` +
    '-replace".',
  STORE_PATH: (path: string) =>
    `"${path}" is not the path of a file. For conversations that end with the process, leave out ` +
    'the store, or set "store.kind": "memory".',
  STORE_OLD: (path: string) =>
    `${path} was written by a development version of Doorward and cannot be read. Move it aside ` +
    `with: ${moveAside(path)}`,
  STORE_DRIVER_MISSING: ({ bun, deno, node }: Partial<Record<string, string>>) =>
    `${bun ? `Bun ${bun}` : deno ? `Deno ${deno}` : `Node ${node}`} has no SQLite that Doorward ` +
    "can use. Use Node 22.13, Deno 2.7, Bun 1.4 or newer, or in Node 20 run: npm install " +
    "@photostructure/sqlite@1",
  store_unavailable: (path: string, reason: string) =>
    `The conversation store ${path} is not available: ${reason}.`,
  store_busy: "Too many messages wait to be stored. Try again shortly.",
  not_found: (what: string) => `There is no ${what}.`,
});
