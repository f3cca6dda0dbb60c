/** Errors of the token store. */
import { errorTable } from "../../kernel/index.ts";

/** Errors of the token services; none contains a token. Compare `error.code`, not the message. */
export const tokenErrors = errorTable({
  token_unclaimed: (name: string) => `No plugin has claimed the token "${name}".`,
  token_claimed_twice: (name: string) =>
    `Two plugins claim the token "${name}"; only one plugin may claim a token.`,
  token_not_text: (place: string, key: string, expected: string) =>
    `${place}: "${key}" must be ${expected}.`,
  token_too_short: (name: string, source: string) =>
    `The ${name} token (source: ${source}) has fewer than 8 characters, so other machines could ` +
    "guess it; choose a longer one, or listen on 127.0.0.1 only.",
  token_file_missing: (file: string) => `${file} is missing or empty.`,
  token_managed_by_env: (name: string, variable: string) =>
    `The ${name} token comes from the environment variable ${variable}; ` +
    "change it there and restart.",
  busy: (name: string) => `Another rotation of the ${name} token is in progress; try again later.`,
  stale: (name: string) =>
    `The ${name} token was replaced in the meantime; read it again before you replace it.`,
  weak_token: (rule: string) => `This token cannot be used: ${rule}.`,
  store_unavailable: (action: string, reason: string, outcome: string) =>
    `The token could not be ${action}: ${reason}. ${outcome}.`,
});
