import { errorTable } from "../../kernel/index.ts";

export const presetErrors = errorTable({
  CLIENT_SWITCHED_OFF: (prefix: string) =>
    `The pico client is switched off: ${prefix}_CHANNELS_PICO_CLIENT_ENABLED, or channels.pico_client.enabled in ` +
    "config.json, says false.",
  TOKEN_FILE_UNREADABLE: (path: string, reason: string) => `No token can be read from the file "${path}": ${reason}.`,
});
