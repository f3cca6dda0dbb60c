// `doorward acp`: an agent of the Agent Client Protocol on standard input and output, for editors.
import { EditorAgent, type ListedSession } from "../acp/agent.ts";
import { forEachLine, whenReaderGone } from "../client/lines.ts";
import { clientArguments, openClientKernel } from "../client/session.ts";
import { sanitizeLine } from "../client/text.ts";
import type { ConversationSummary } from "../../plugins/conversations/index.ts";
import { askLauncher } from "./control-client.ts";
import { UsageError, exitCodes, type CommandContext } from "./command.ts";

interface ListBody {
  readonly conversations: readonly ConversationSummary[];
  readonly before?: string;
}

/** @returns The conversations of the own launcher. */
async function listConversations(context: CommandContext, cwd: string, cursor: string | undefined) {
  const query = new URLSearchParams({
    limit: "50",
    ...(cursor !== undefined && { before: cursor }),
  });
  const response = await askLauncher<ListBody>(context, "GET", `conversations?${query}`);
  if (response?.status !== 200) return undefined;
  const { conversations, before } = response.body;
  const sessions = conversations
    .filter(({ channel }) => channel === "pico")
    .map(({ session, title, usedAt }): ListedSession => {
      const updatedAt = new Date(usedAt).toISOString();
      return { sessionId: session, cwd, updatedAt, ...(title && { title }) };
    });
  return { sessions, nextCursor: before };
}

/** Runs until the editor closes standard input. */
export async function acp(context: CommandContext): Promise<number> {
  if (context.words.length > 0)
    throw new UsageError('"acp" takes only options; an editor starts it: see docs/client.md');
  const given = clientArguments(context);
  let isOwn = false;
  const notice = (text: string): void => context.say(`doorward: ${sanitizeLine(text)}\n`);
  const agent = new EditorAgent({
    version: context.version,
    write: (line) => context.out(`${line}\n`),
    notice,
    sessionId: given.sessionId,
    async openLink(sessionId, handlers) {
      const kernel = await openClientKernel(context, {
        ...given,
        sessionId,
        notice,
        onReply: () => undefined,
        handlers,
        foundOwn: () => (isOwn = true),
      });
      return {
        link: kernel.services.picoLink,
        close: () => kernel.stop({ timeoutMs: 2_000 }),
      };
    },
    list: async (cwd, cursor) => (isOwn ? listConversations(context, cwd, cursor) : undefined),
  });
  const interrupted = new Promise<void>((resolve) => {
    process.once("SIGINT", resolve).once("SIGTERM", resolve);
  });
  const over = Promise.race([interrupted, whenReaderGone(process.stdout)]);
  const read = forEachLine(
    context.stdin,
    (line) => {
      agent.receive(line);
      return undefined;
    },
    over,
  );
  await Promise.race([over, read]).finally(() => agent.close());
  context.stdin.destroy();
  return exitCodes.done;
}
