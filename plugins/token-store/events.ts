import type { TokenName, TokenSource } from "./service.ts";

export type TokenStoreEvents = {
  /** A claim was answered. */
  "token-store:resolved": {
    name: TokenName;
    version: number;
    source: TokenSource;
    managedByEnv: boolean;
  };
  /** The new token is written and the old one no longer verifies. */
  "token-store:rotated": { name: TokenName; version: number; graceS: number };
  /** An edit took the token away and none is left. */
  "token-store:removed": { name: TokenName };
};
