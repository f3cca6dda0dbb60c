// Errors of the pico client.
import { errorTable } from "../../kernel/index.ts";

/** Creates the errors of the pico client by code. */
export const picoClientErrors = errorTable({
  PICO_CLIENT_URL_MISSING: (prefix: string) =>
    "The pico client has no address. " +
    `Set the environment variable ${prefix}_CHANNELS_PICO_CLIENT_URL, or ` +
    "channels.pico_client.url in config.json, to the address of the channel " +
    "(ws://host:port/pico).",
  PICO_CLIENT_TOKEN_MISSING: (prefix: string | undefined) =>
    "The pico client has no token. " +
    (prefix === undefined
      ? "Pass the channel token of the server to the token store: " +
        "tokenStore(memory({ pico_client: token }))."
      : `Set the environment variable ${prefix}_CHANNELS_PICO_CLIENT_TOKEN, or ` +
        "channels.pico_client.token in .security.yml, to the channel token of the server " +
        "(on the command line also: -token-file)."),
  PICO_CLIENT_TOKEN_ORIGIN: (prefix: string, filed: string, url: string) =>
    `The token in the files belongs to ${filed} (channels.pico_client.url in config.json) and is ` +
    `not sent to ${url}. Pass the channel token of this server with ` +
    `${prefix}_CHANNELS_PICO_CLIENT_TOKEN (on the command line also: -token-file).`,
  PICO_CLIENT_CA_UNREADABLE: (path: string, reason: string) =>
    `The certificate file "${path}" (channels.pico_client.ca_file) cannot be read: ${reason}.`,
  PICO_CLIENT_BAD_PROXY: (variable: string) =>
    `The environment variable ${variable} is not the address of a proxy (http://host:port).`,
  unsupported:
    "The server accepts only text and attachments with bytes. " +
    "It does not accept thoughts, tool calls or attachment URLs.",
  undeliverable: (reason: string) => `The message was not accepted: ${reason}`,
  outbox_full:
    "1,000 messages or 4 MiB are waiting for the server. Try again when some are confirmed.",
  too_large: "The message is larger than the server accepts.",
  not_running: "The pico client is off or stopping.",
});

const adviceByReason: Readonly<Record<string, string>> = {
  no_tls:
    "The server does not use TLS at this port. Write ws:// instead of wss:// in " +
    "channels.pico_client.url (-url), or name the port of the proxy that adds TLS.",
  certificate:
    "The certificate of the server is not trusted. Name the file of its authority in " +
    "channels.pico_client.ca_file.",
  proxy_refused:
    "The proxy of HTTPS_PROXY, HTTP_PROXY or ALL_PROXY rejected the connection. NO_PROXY can " +
    "exempt the host.",
};

/** @returns What the user can do about a failed connection with this reason, if it is known. */
export const connectionAdvice = (reason: string): string | undefined =>
  Object.hasOwn(adviceByReason, reason) ? adviceByReason[reason] : undefined;
