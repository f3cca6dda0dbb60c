import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Kernel, Plugin } from "../../kernel/index.ts";
import { withKernel, type LogEntry, type StoppedClock } from "../../kernel/testing.ts";
import {
  files,
  tokenStore,
  type TokenBackend,
  type TokenInfo,
  type Tokens,
  type TokenSecrets,
  type TokenStoreShape,
} from "../../plugins/token-store/index.ts";

export interface Home {
  readonly path: string;
  at(name: string): string;
  write(name: string, content: string | object): Promise<void>;
}

/** An empty home that is gone afterwards; `fresh`: one that does not exist yet. */
export async function withHome(
  visit: (home: Home) => Promise<void>,
  { fresh = false }: { fresh?: boolean } = {},
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "doorward-home-"));
  const path = fresh ? join(folder, "deep", "home") : folder;
  try {
    await visit({
      path,
      at: (name) => join(path, name),
      write: (name, content) =>
        writeFile(
          join(path, name),
          typeof content === "string" ? content : JSON.stringify(content),
          { mode: 0o600 },
        ),
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export interface TokenServer {
  readonly kernel: Kernel<readonly [Plugin<TokenStoreShape>, Claimer]>;
  readonly tokens: Tokens;
  readonly secrets: TokenSecrets;
  readonly clock: StoppedClock;
  readonly lines: readonly LogEntry[];
  /** All token-store events and state changes since the start, in order. */
  readonly facts: readonly object[];
  /** Results of the claims. */
  readonly claimed: Readonly<Record<string, TokenInfo>>;
}

type Claimer = Plugin<{ needs: { tokens: Tokens } }>;
const heard = [
  "token-store:resolved",
  "token-store:rotated",
  "token-store:removed",
  "kernel:state-changed",
];
type Claims = Readonly<Record<string, { generate?: true; exposed?: boolean }>>;

/** Starts a token store on a form, claims names in order, and visits. */
export async function withTokens(
  form: TokenBackend,
  claims: Claims,
  visit: (server: TokenServer) => void | Promise<void>,
  options: { random?: (bytes: number) => Uint8Array } = {},
): Promise<void> {
  const facts: object[] = [];
  const claimed: Record<string, TokenInfo> = {};
  const store = tokenStore(form);
  const claimer: Claimer = {
    name: "claimer",
    api: 1,
    needs: { tokens: true },
    async start({ needs, on }) {
      const hear = on as (type: string, handler: (fact: object) => void) => void;
      for (const type of heard) {
        hear(type, (fact) => void facts.push({ type, ...fact }));
      }
      for (const [name, how] of Object.entries(claims))
        claimed[name] = await needs.tokens.claim(name, how);
    },
  };
  await withKernel(
    [store, claimer],
    async ({ kernel, clock, lines }) => {
      const { tokens, tokenSecrets } = kernel.services;
      await visit({ kernel, tokens, secrets: tokenSecrets, clock, lines, facts, claimed });
    },
    options,
  );
}

/** The same on the files of a home. */
export const withFiles = (
  home: Home,
  env: Readonly<Record<string, string>>,
  claims: Claims,
  visit: (server: TokenServer) => void | Promise<void>,
): Promise<void> => withTokens(files({ home: home.path, env }), claims, visit);
