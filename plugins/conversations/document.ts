// Writes a conversation as a JSON or Markdown document.
import type { ConversationHistory, ConversationSummary, Turn } from "./contract.ts";
import { escapeMarkdown, toSection } from "./turn-section.ts";

const pageSize = 100;

/** Reads all turns, page by page. */
async function* turnsOf(
  history: Pick<ConversationHistory, "read">,
  id: string,
): AsyncIterable<Turn> {
  let after = ":0";
  for (;;) {
    const { items } = await history.read(id, { after, limit: pageSize });
    yield* items;
    const last = items.at(-1);
    if (last === undefined) return;
    after = `:${last.seq}`;
  }
}

/** Writes `{"conversation": …, "turns": [ … ]}`, one turn per line. */
async function* toJson(
  conversation: ConversationSummary,
  turns: AsyncIterable<Turn>,
): AsyncIterable<string> {
  yield `{"conversation":${JSON.stringify(conversation)},"turns":[`;
  let separator = "\n";
  for await (const turn of turns) {
    yield separator + JSON.stringify(turn);
    separator = ",\n";
  }
  yield "\n]}\n";
}

async function* toMarkdown(
  { title, channel, session }: ConversationSummary,
  turns: AsyncIterable<Turn>,
): AsyncIterable<string> {
  yield `# ${escapeMarkdown(title || session)}\n\n`;
  yield `Channel ${escapeMarkdown(channel)}, session ${escapeMarkdown(session)}\n`;
  for await (const turn of turns) yield toSection(turn);
}

/**
 * Writes a conversation as one document, piece by piece. Reads it page by page, so that memory does
 * not grow with its length.
 *
 * @throws not_found when the reading begins, if there is no such conversation.
 */
export async function* exportConversation(
  history: Pick<ConversationHistory, "get" | "read">,
  id: string,
  format: "json" | "markdown",
): AsyncIterable<string> {
  const conversation = await history.get(id);
  const turns = turnsOf(history, id);
  yield* format === "json" ? toJson(conversation, turns) : toMarkdown(conversation, turns);
}
