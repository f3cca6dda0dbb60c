import type { Plugin } from "../../kernel/index.ts";
import type { TokenBackend } from "./service.ts";
import { createStore } from "./store.ts";
import { type TokenStoreShape } from "./service.ts";

export type {
  TokenStoreEvents,
  ResolvedToken,
  TokenBackend,
  TokenDescription,
  TokenInfo,
  TokenName,
  TokenLocation,
  Tokens,
  TokenSecrets,
  TokenSource,
  TokenStoreShape,
} from "./service.ts";
export { tokenErrors } from "./errors.ts";
export { environment, tokenVariable, memory, type EnvironmentOptions } from "./memory.ts";
export { tokenWarning, generateToken, weakTokenReason } from "./rules.ts";
export { files, type FileBackendOptions } from "./files.ts";

/** Resolves, verifies, persists and replaces tokens, and drives the launcher's life with what becomes of its token. */
export function tokenStore(form: TokenBackend): Plugin<TokenStoreShape> {
  return {
    name: "token-store",
    api: 1,
    drives: true,
    start(scope) {
      const { tokens, tokenSecrets, claimed, watch } = createStore(form, scope);
      // Without a launcher token to wait for there is nothing to set up.
      scope.onReady(() => {
        if (!claimed("launcher")) scope.lifecycle.send("accept-credentials");
        return watch();
      });
      return { tokens, tokenSecrets };
    },
  };
}
