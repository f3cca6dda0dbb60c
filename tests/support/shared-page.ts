// The owner of a conversation, who reads and renames it through the API of the dashboard.
import assert from "node:assert/strict";
import type { ConversationSummary, Turn } from "../../plugins/conversations/index.ts";
import { launcherToken } from "./shared-conversation.ts";

interface List {
  readonly conversations: readonly ConversationSummary[];
}

interface Part {
  readonly conversation: ConversationSummary;
  readonly turns: readonly Turn[];
  readonly before?: string;
}

/** Reads one conversation of the pico channel, as the chat page does. */
export class Page {
  private readonly session: string;
  private title: string | undefined;

  constructor(session: string) {
    this.session = session;
  }

  /** Renames the conversation, if it has begun. */
  async rename(base: URL, title: string): Promise<void> {
    const found = await this.find(base);
    if (!found) return;
    const { conversation } = (await this.ask(base, `/${found.id}`, { title })) as Part;
    assert.equal(conversation.title, title);
    this.title = title;
  }

  /** @returns All turns, read in pages of this size. */
  async read(base: URL, limit: number): Promise<Turn[]> {
    const found = await this.find(base);
    const turns: Turn[] = [];
    for (let before: string | undefined; found;) {
      const query = new URLSearchParams({
        limit: `${limit}`,
        ...(before !== undefined && { before }),
      });
      const part = (await this.ask(base, `/${found.id}?${query}`)) as Part;
      assert(part.turns.length <= limit);
      turns.unshift(...part.turns);
      before = part.before;
      if (before === undefined) break;
    }
    return turns;
  }

  /** Compares the row of the list with the turns. */
  async check(base: URL, turns: readonly Turn[]): Promise<void> {
    const { conversations } = (await this.ask(base, "")) as List;
    assert.deepEqual(
      conversations.map(({ session }) => session),
      [this.session],
    );
    const [{ title, renamed, turns: count, preview }] = conversations as [ConversationSummary];
    const shown = { title, renamed, count, preview };
    const name = this.title ?? turns.find(({ role }) => role === "user")!.content;
    assert.deepEqual(shown, {
      title: name,
      renamed: this.title !== undefined,
      count: turns.length,
      preview: turns.at(-1)!.content,
    });
  }

  private async find(base: URL): Promise<ConversationSummary | undefined> {
    return ((await this.ask(base, `?session=${this.session}`)) as List).conversations[0];
  }

  private async ask(base: URL, path: string, change?: object): Promise<unknown> {
    const response = await fetch(new URL(`/api/conversations${path}`, base), {
      method: change ? "PATCH" : "GET",
      headers: { Authorization: `Bearer ${launcherToken}`, "Content-Type": "application/json" },
      ...(change && { body: JSON.stringify(change) }),
    });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return JSON.parse(text);
  }
}
