// Errors of third-party plugins.
import { errorTable } from "../../kernel/index.ts";

export const pluginErrors = errorTable({
  PLUGIN_NOT_FOUND: (name: string, home: string, fix: string) =>
    `The plugin "${name}" is not in ${home}; ${fix}.`,
  PLUGIN_BROKEN: (name: string, problem: string) =>
    `The plugin "${name}" cannot be loaded: ${problem}`,
  PLUGIN_EXPORT: (name: string) =>
    `The plugin "${name}" has no default export that is a plugin, ` +
    `{ name, api: 1, start }, or a function that ` +
    "returns one.",
  PLUGIN_SCHEMA: (name: string) =>
    `The plugin "${name}" has a "config" that is not { section, schema } with a ` +
    `Standard Schema that provides JSON ` +
    "Schema, as objects of zod 4.2 and later do.",
  PLUGIN_NAME_TAKEN: (from: string, name: string) =>
    `The plugin "${from}" is named "${name}", like another plugin; list it once, ` +
    `or ask its author to ` +
    "rename it.",
  PLUGIN_FAILED: (name: string, problem: string) => `The plugin "${name}" cannot start: ${problem}`,
});
