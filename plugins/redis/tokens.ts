// Passes replaced tokens to the other nodes, sealed with a key of the shared secret.
import type { Log } from "../../kernel/index.ts";
import type { TokenPeers, TokenSync } from "../token-store/index.ts";
import type { Reply } from "./driver.ts";
import type { KeySpace } from "./keys.ts";
import type { RedisLink } from "./link.ts";
import type { Nodes } from "./nodes.ts";

interface TokenExchangeOptions {
  readonly link: RedisLink;
  readonly space: KeySpace;
  readonly nodes: Nodes;
  readonly log: Log;
  readonly random: (bytes: number) => Uint8Array;
  readonly sync: TokenSync;
}

/** Seconds that connections of an old token may stay, at most. */
const maxGraceS = 86_400;

type RunScript = (keys: readonly string[], values: readonly string[]) => Promise<Reply>;

export class TokenExchange implements TokenPeers {
  private readonly options: TokenExchangeOptions;

  constructor(options: TokenExchangeOptions) {
    this.options = options;
  }

  /** Begins to pass tokens in both directions. */
  connect(): void {
    const { nodes, sync, link } = this.options;
    nodes.handle("token", (fields, from) => {
      if (from !== nodes.me) this.received(fields);
    });
    // Nothing is served before the tokens of a node that was away are compared.
    link.beforeUp((call) =>
      sync.compare((name, value, graceS) =>
        this.exchangeBy((keys, values) => call("token", keys, values), name, value, graceS),
      ),
    );
    sync.connect(this);
  }

  exchange(name: string, value: string | undefined, graceS: number): Promise<string | undefined> {
    const { link } = this.options;
    const run: RunScript = (keys, values) =>
      link.run({ script: "token", keys, values, repeats: true });
    return this.exchangeBy(run, name, value, graceS);
  }

  private async exchangeBy(
    run: RunScript,
    name: string,
    value: string | undefined,
    graceS: number,
  ): Promise<string | undefined> {
    const { space, nodes, random } = this.options;
    const keys = [space.tokens, space.all];
    if (value === undefined) return this.opened(name, await run(keys, [name, "", "", ""]));
    const sealed = space.seal(name, value, random);
    const notice = JSON.stringify({ t: "token", name, sealed, graceS, from: nodes.me });
    const digest = space.digest("token", `${name}\0${value}`);
    const reply = await run(keys, [name, digest, sealed, notice]);
    return this.opened(name, reply);
  }

  private opened(name: string, reply: Reply): string | undefined {
    const [, sealed] = reply as readonly Reply[];
    return sealed ? this.options.space.unseal(name, String(sealed)) : undefined;
  }

  private received({ name, sealed, graceS }: Readonly<Record<string, unknown>>): void {
    const { space, sync, log } = this.options;
    if (typeof name !== "string" || typeof sealed !== "string") return;
    const grace = typeof graceS === "number" ? Math.min(Math.max(graceS, 0), maxGraceS) : 0;
    try {
      const value = space.unseal(name, sealed);
      sync.received(name, value, grace).catch((error: unknown) => {
        log.error({ err: error, name }, "A token of another node could not be used");
      });
    } catch {
      log.error({ name }, "A token of another node could not be read: the secrets differ");
    }
  }
}
