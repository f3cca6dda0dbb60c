// Errors of the plugin keys.
import { errorTable } from "../../kernel/index.ts";

/** Creates the errors of keys by code. */
export const keysErrors = errorTable({
  invalid_key: (field: string, expected: string) =>
    `"${field}" of the key is not valid: expected ${expected}.`,
  key_name_taken: (name: string) =>
    `There is a key with the name "${name}". Choose another name, or rotate or revoke that key.`,
  unknown_key: "There is no key with this id or name, or it was revoked.",
  too_many_keys: "There are 1,000 keys. Revoke one that is not in use.",
  keys_unavailable: "The keys cannot be stored or read now. Try again shortly.",
});
