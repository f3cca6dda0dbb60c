import { errorTable } from "../../kernel/index.ts";

export const tokenErrors = errorTable({
  token_unclaimed: (name: string) => `No plugin has claimed the token "${name}".`,
  token_claimed_twice: (name: string) =>
    `The token "${name}" is claimed by two plugins; each token has one owner.`,
  token_not_text: (file: string, path: string) =>
    `${file}: "${path}" must be text in quotation marks.`,
  token_too_short: (name: string, source: string) =>
    `The ${name} token (source: ${source}) has fewer than 8 characters, and other machines could guess it; ` +
    "choose a longer one, or listen on 127.0.0.1 alone.",
  token_file_missing: (file: string) => `${file} is missing or empty.`,
  token_managed_by_env: (name: string, variable: string) =>
    `The ${name} token comes from the environment variable ${variable}; change it there and restart.`,
  busy: (name: string) =>
    `The ${name} token is being replaced at this moment; try again when that is done.`,
  stale: (name: string) =>
    `The ${name} token was replaced meanwhile; look at it again before replacing it.`,
  weak_token: (rule: string) => `This token cannot be used: ${rule}.`,
  store_unavailable: (what: string, reason: string, outcome: string) =>
    `The token could not be ${what}: ${reason}. ${outcome}.`,
});
