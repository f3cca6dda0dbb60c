import { errorTable } from "../../kernel/index.ts";

export const presetErrors = errorTable({
  CLIENT_SWITCHED_OFF: (prefix: string) =>
    `The pico client is switched off: ${prefix}_CHANNELS_PICO_CLIENT_ENABLED, or channels.pico_client.enabled in ` +
    "config.json, says false.",
  CLIENT_NO_ADDRESS: (prefix: string, home: string) =>
    `No channel to talk to: no launcher of ${home} runs with its pico channel on, and no other one is named; name it ` +
    `with -url ws://host:port/pico and -token-file, ${prefix}_CHANNELS_PICO_CLIENT_URL, or channels.pico_client.url ` +
    "in config.json.",
  TOKEN_FILE_UNREADABLE: (path: string, reason: string) =>
    `No token can be read from the file "${path}": ${reason}.`,
});
