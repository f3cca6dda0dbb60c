// Error table of the pico channel.
import { errorTable } from "../../kernel/index.ts";

/**
 * Errors of the plugin. `PICO_TOKEN_MISSING` and `PICO_DESCRIPTORS` fail the start; the others
 * reject calls of the channels service. Compare `error.code`, not the message.
 */
export const picoErrors = errorTable({
  PICO_TOKEN_MISSING: (prefix: string | undefined) =>
    "The pico channel is enabled but has no token. " +
    (prefix === undefined
      ? "Pass one to the token store: tokenStore(memory({ pico: token })). " +
        "Use 32 random bytes in hex (openssl rand -hex 32)."
      : `Set the environment variable ${prefix}_CHANNELS_PICO_TOKEN, or channels.pico.token in ` +
        ".security.yml or config.json, to 32 random bytes in hex (openssl rand -hex 32)."),
  PICO_DESCRIPTORS: (connections: number, has: number, needs: number) =>
    `channels.pico.max_connections is ${connections}, but this process may open only ` +
    `${has} files. Raise the limit to ${needs} (ulimit -n, LimitNOFILE), or lower ` +
    `max_connections to ${Math.max(1, has - needs + connections)}.`,
  too_large: (bytes: number, maxBytes: number) =>
    `The message has ${bytes} bytes. At most ${maxBytes} bytes are allowed.`,
  unsupported: "An attachment needs bytes, or a URL that starts with https: or data:.",
});
