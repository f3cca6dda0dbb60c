// Finds the conversation that a request without the name of a session continues.
import { createHash } from "node:crypto";
import type { Clock } from "../../../kernel/index.ts";
import type { PreviousTurn } from "../../channels/index.ts";
import type { Call } from "../server.ts";
import { shortDigest } from "../session.ts";
import type { Turn } from "../turn.ts";
import type { RunEnd } from "../follower.ts";
import type { ReplyWatcher } from "./plain-text.ts";
import { RecentMap } from "../recent-map.ts";

const maxChains = 1_000;
const keepMs = 24 * 3_600_000;
/** Texts of fewer characters, such as "yes", occur in several conversations. */
const minLongLength = 64;
/** Long turns that are compared, the latest ones. */
const maxLongTurns = 16;

/** A text without its white space, because some clients trim the texts that they keep. */
class TextDigest {
  private readonly hash = createHash("sha256");
  length = 0;

  add(text: string): this {
    this.length += text.length;
    this.hash.update(text.replace(/\s+/g, ""));
    return this;
  }

  end(): Said {
    const isLong = this.length >= minLongLength;
    return { digest: this.hash.digest("base64url").slice(0, 22), isLong };
  }
}

/** One turn, as a client knows it. */
interface Said {
  readonly digest: string;
  readonly isLong: boolean;
}

/** The client of a conversation. */
interface Owner {
  /** Id of the sender: the token, or the person whose token it is. */
  readonly sender: string;
  /** Product and address. */
  readonly client: string;
}

/** A conversation whose reply has ended. */
interface Chain extends Owner {
  /** Name of its session. */
  readonly name: string;
  /** Name of the session that the first of these conversations has. */
  readonly root: string;
  /** Digest of the turns of both sides, with the reply. */
  readonly whole: string;
  /** Digest of the reply. */
  readonly last: string;
  /** Digests of long turns before the reply. */
  readonly long: ReadonlySet<string>;
  readonly isCurrent: () => boolean;
}

/** A request whose conversation is found. */
export interface Continuation {
  /** Name of the session. */
  readonly name: string;
  /** Reads the reply, so that later requests find the conversation. */
  readonly watcher: ReplyWatcher;
}

interface ChainOptions {
  readonly call: Pick<Call, "access">;
  /** Product and address of the client. */
  readonly client: string;
  readonly turn: Turn;
  readonly from: "request" | "history";
  /** A new name. */
  readonly newName: string;
}

const toDialogue = (turns: readonly Pick<PreviousTurn, "role" | "content">[]) =>
  turns
    .filter(({ role, content }) => /^(?:user|assistant)$/.test(role) && content.trim() !== "")
    .map(({ role, content }) => ({ role, ...new TextDigest().add(content).end() }));

type Dialogue = ReturnType<typeof toDialogue>;

const wholeOf = (said: readonly (Said & { readonly role: string })[]): string =>
  shortDigest(said.map(({ role, digest }) => `${role} ${digest}`).join("\n"));

const longOf = (said: readonly Said[]): ReadonlySet<string> =>
  new Set(said.flatMap(({ digest, isLong }) => (isLong ? digest : [])).slice(-maxLongTurns));

/** The latest conversations of clients that name no sessions. A restart forgets them. */
export class Chains {
  /** Name of the session -> conversation. */
  private readonly chains: RecentMap<Chain>;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.chains = new RecentMap({ max: maxChains, keepMs, clock });
  }

  /**
   * Finds the session. From `history`, it is that of the conversation. From `request`, it is a new
   * one, whose name begins with that of the first request, so that lists can fold them.
   */
  find(options: ChainOptions): Continuation {
    const { turn, client, from, newName, call } = options;
    const before = toDialogue(turn.previous);
    const owner = { sender: call.access.sender.id, client };
    const found =
      from === "history" ? this.findForHistory(before, owner) : this.findForList(before, owner);
    const root = found?.root ?? newName;
    const named = found && from === "request" ? `${root}~${newName.slice(0, 16)}` : newName;
    const name = found && from === "history" ? found.name : named;
    const asked = [...before, ...toDialogue([{ role: "user", content: turn.content }])];
    const isCurrent = (): boolean => call.access.isCurrent?.() !== false;
    const text = new TextDigest();
    const over = ({ outcome }: RunEnd): void => {
      if (outcome === "failed" || text.length === 0) return;
      const reply = text.end();
      const whole = wholeOf([...asked, { role: "assistant", ...reply }]);
      const [last, long] = [reply.digest, longOf(asked)];
      this.chains.set(name, { name, root, ...owner, whole, last, long, isCurrent });
    };
    return { name, watcher: { text: (delta) => void text.add(delta), over } };
  }

  /** The one conversation whose turns are those of the request. */
  private findForList(before: Dialogue, { sender }: Owner): Chain | undefined {
    if (before.length === 0) return undefined;
    const whole = wholeOf(before);
    return this.only((chain) => chain.sender === sender && chain.whole === whole);
  }

  private findForHistory(before: Dialogue, { sender, client }: Owner): Chain | undefined {
    const last = before.at(-1);
    if (last?.role !== "assistant") return undefined;
    const long = [...longOf(before.slice(0, -1))];
    return this.only(
      (chain) =>
        chain.sender === sender &&
        chain.client === client &&
        chain.last === last.digest &&
        long.some((digest) => chain.long.has(digest)),
    );
  }

  private only(matches: (chain: Chain) => boolean): Chain | undefined {
    const found = this.chains.values().filter((chain) => chain.isCurrent() && matches(chain));
    return found.length === 1 ? found[0] : undefined;
  }
}
