import { errorTable } from "../../kernel/index.ts";

export const picoErrors = errorTable({
  PICO_TOKEN_MISSING: (prefix: string | undefined) =>
    "The pico channel is enabled but has no token: " +
    (prefix === undefined
      ? "give one to the token store, tokenStore(memory({ pico: token })). " +
        "Use 32 random bytes in hex (openssl rand -hex 32 makes them)."
      : `set the environment variable ${prefix}_CHANNELS_PICO_TOKEN, or channels.pico.token in .security.yml, or ` +
        "channels.pico.token in config.json, to 32 random bytes in hex (openssl rand -hex 32 makes them)."),
  PICO_DESCRIPTORS: (connections: number, has: number, needs: number) =>
    `channels.pico.max_connections is ${connections}, but this process may open ${has} files: ` +
    `raise the limit to ${needs} (ulimit -n, LimitNOFILE), or lower max_connections ` +
    `to ${Math.max(1, has - needs + connections)}.`,
  too_large: (bytes: number, most: number) =>
    `The message is ${bytes} bytes long; ${most} can be sent.`,
  undeliverable:
    "Nobody listens to this session, and no room is left to keep it; send it when a client is there.",
  unsupported: "An attachment needs bytes, or an address that begins with https: or data:.",
});
