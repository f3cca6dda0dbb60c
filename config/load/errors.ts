// Errors of settings in files and environment variables.
import { errorTable } from "../../kernel/index.ts";

/**
 * Errors of settings in files and environment variables. The message names the file or the
 * variable. Compare `error.code`, not the message.
 */
export const loadErrors = errorTable({
  CONFIG_UNKNOWN_KEY: (file: string, path: string, hint: string) =>
    `${file}: "${path}" is not a setting.${hint}`,
  CONFIG_NOT_AN_OBJECT: (file: string, path: string) =>
    `${file}: "${path}" must be an object with settings, like { … }.`,
  CONFIG_NOT_VALID: (place: string, path: string, problem: string) =>
    `${place}: "${path}" is not valid: ${problem}.`,
  CONFIG_BAD_VALUE: (file: string, path: string, expected: string) =>
    `${file}: "${path}" must be ${expected}.`,
  WORKERS_REMOVED: (place: string) =>
    `Remove ${place}: several processes are containers or services that share Redis, as ` +
    "docs/scaling.md shows.",
  ENV_BAD_VALUE: (variable: string, expected: string) =>
    `The environment variable ${variable} must be ${expected}; correct it or remove it.`,
  ENV_LOOKS_LIKE: (variable: string, known: string) =>
    `The environment variable ${JSON.stringify(variable)} looks like ${known}, but has other ` +
    `capitals or letters. Rename it to ${known}, or remove it.`,
  ENV_AMBIGUOUS: (variable: string, first: string, second: string) =>
    `The environment variable ${variable} means both "${first}" and "${second}"; ` +
    "rename one of the settings.",
});
