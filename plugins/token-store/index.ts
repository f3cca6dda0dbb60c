/** The token store plugin: resolves, verifies, stores and rotates tokens. */
import type { Plugin } from "../../kernel/index.ts";
import type { TokenBackend, TokenStoreShape } from "./service.ts";
import { TokenStore } from "./store.ts";

export type {
  TokenStoreEvents,
  ResolvedToken,
  TokenBackend,
  TokenDescription,
  TokenInfo,
  TokenName,
  TokenLocation,
  TokenMatch,
  TokenPerson,
  TokenPeers,
  Tokens,
  TokenSecrets,
  TokenSource,
  TokenSync,
  TokenStoreShape,
} from "./service.ts";
export { tokenErrors } from "./errors.ts";
export { environment, memory, type EnvironmentOptions } from "./memory.ts";
export { tokenVariable, tokenWarning, generateToken, weakTokenReason } from "./token.ts";
export { files, type FileBackendOptions } from "./files.ts";

/**
 * Creates the token store. It also drives the state of the launcher: setup, running, rotating.
 *
 * @param backend - The token storage: `files()`, `memory()`, `environment()` or one of a host.
 * @example
 * import { createKernel } from "doorward";
 * import { http } from "doorward/plugins/http";
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * const kernel = createKernel([tokenStore(memory({ launcher: token })), http()]);
 */
export function tokenStore(backend: TokenBackend): Plugin<TokenStoreShape> {
  return {
    name: "token-store",
    api: 1,
    drives: true,
    start(scope) {
      const store = new TokenStore(backend, scope);
      // If no plugin claims the launcher token, there is nothing to set up.
      scope.onReady(() => {
        if (!store.isClaimed("launcher")) scope.lifecycle.send("accept-credentials");
        return store.watch();
      });
      const { sync } = store;
      return { tokens: store.tokens(), tokenSecrets: store.tokenSecrets(), tokenSync: sync };
    },
  };
}
