// Errors of the AG-UI protocol.
import { errorTable } from "../../kernel/index.ts";

/** Errors of the plugin. `AG_UI_TOKEN_MISSING` fails the start. */
export const agUiErrors = errorTable({
  AG_UI_TOKEN_MISSING: (prefix: string | undefined) =>
    "The AG-UI protocol is enabled but has no token. " +
    (prefix === undefined
      ? "Pass one to the token store: tokenStore(memory({ ag_ui: token })). " +
        "Use 32 random bytes in hex (openssl rand -hex 32)."
      : `Set the environment variable ${prefix}_CHANNELS_AG_UI_TOKEN, or channels.ag_ui.token ` +
        "in .security.yml or config.json, to 32 random bytes in hex (openssl rand -hex 32)."),
});
