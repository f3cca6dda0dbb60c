// Errors of the presets.
import { errorTable } from "../../kernel/index.ts";

export const presetErrors = errorTable({
  CLIENT_SWITCHED_OFF: (prefix: string) =>
    "The pico client is off. Remove the value false from " +
    `${prefix}_CHANNELS_PICO_CLIENT_ENABLED, or from channels.pico_client.enabled in config.json.`,
  CLIENT_NO_ADDRESS: (prefix: string, home: string) =>
    `No server is configured, and no launcher of ${home} runs with the pico channel on. Turn the ` +
    "channel on in the dashboard, or connect to another server with -url ws://host:port/pico and " +
    `-token-file FILE, ${prefix}_CHANNELS_PICO_CLIENT_URL, or ` +
    "channels.pico_client.url in config.json.",
  TOKEN_FILE_UNREADABLE: (path: string, reason: string) =>
    `Cannot read a token from the file "${path}": ${reason}.`,
});
