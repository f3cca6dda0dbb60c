// Errors of the SQLite store.
import { errorTable } from "../../../../kernel/index.ts";

export const storeErrors = errorTable({
  STORE_IN_USE: (path: string, holder: string) =>
    `The conversation store ${path} is in use by ${holder}. Stop it, or set another "store.path".`,
  STORE_BROKEN: (path: string, problem: string, command: string) =>
    `${path} cannot be used as the conversation store: ${problem}. Move it aside with: ${command}`,
  STORE_NEWER: (path: string, found: string, known: string) =>
    `${path} has schema version ${found}, and this version of Doorward knows version ${known}. ` +
    "Update Doorward, or restore a backup of that version.",
  STORE_DRIVER_MISSING: (node: string) =>
    `Node ${node} has no SQLite. Use Node 22.13 or newer, or run: npm install ` +
    "@photostructure/sqlite@1",
  store_unavailable: (path: string, reason: string) =>
    `The conversation store ${path} is not available: ${reason}.`,
  not_found: (what: string) => `There is no ${what}.`,
});

export type StoreErrorCode = keyof typeof storeErrors;
