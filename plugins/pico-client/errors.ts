import { errorTable } from "../../kernel/index.ts";

export const picoClientErrors = errorTable({
  PICO_CLIENT_URL_MISSING: (prefix: string) =>
    "The pico client has no address: " +
    `set the environment variable ${prefix}_CHANNELS_PICO_CLIENT_URL, or channels.pico_client.url in config.json, ` +
    "to the address of the channel (ws://host:port/pico).",
  PICO_CLIENT_TOKEN_MISSING: (prefix: string | undefined) =>
    "The pico client has no token: " +
    (prefix === undefined
      ? "give the channel token of the server to the token store, " +
        "tokenStore(memory({ pico_client: token }))."
      : `set the environment variable ${prefix}_CHANNELS_PICO_CLIENT_TOKEN, or ` +
        "channels.pico_client.token in .security.yml, to the channel token of the server " +
        "(on the command line also: -token-file)."),
  PICO_CLIENT_CA_UNREADABLE: (path: string, reason: string) =>
    `The certificates in "${path}" (channels.pico_client.ca_file) cannot be read: ${reason}.`,
  PICO_CLIENT_BAD_PROXY: (variable: string) =>
    `The environment variable ${variable} holds no address of a proxy (http://host:port).`,
  unsupported:
    "The other end takes text and pictures with bytes: no thoughts, no calls of tools, no addresses.",
  undeliverable: (reason: string) => `The message was not taken: ${reason}`,
  outbox_full:
    "1,000 messages or 4 MiB wait for the other end; send this one when some are confirmed.",
  too_large: "The message is larger than the other end takes.",
  not_running: "The pico client is switched off or stopping.",
});
