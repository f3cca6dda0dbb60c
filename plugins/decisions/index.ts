// The plugin decisions: lists settled questions, read from the conversations.
import type { Plugin } from "../../kernel/index.ts";
import type { Conversations, ConversationSummary } from "../conversations/contract.ts";
import { decisionsSchema } from "./config.ts";
import type { Decision, DecisionList, DecisionsShape } from "./contract.ts";
import { LinesOfDeleted, type KeptLines } from "./kept-lines.ts";
import { decisionsIn, readTurns } from "./read.ts";

export type {
  Decision,
  DecisionLine,
  DecisionList,
  Decisions,
  DecisionsShape,
} from "./contract.ts";

const maxLimit = 1_000;
/** Conversations that one list reads, at most. */
const maxConversations = 2_000;
/** The time of a use may be older than that of its settlement: another clock, and once a second. */
const usedLateMs = 60_000;
const firstPurgeMs = 60_000;
const purgeEveryMs = 3_600_000;

/** Finds the conversations that were used since then, or in which a question was lost. */
async function findConversations(
  conversations: Conversations,
  since: number,
): Promise<{ readonly found: readonly ConversationSummary[]; readonly isComplete: boolean }> {
  const found = new Map<string, ConversationSummary>();
  for (const address of (await conversations.questions?.lostSince?.(since)) ?? []) {
    const summary = await conversations.find(address);
    if (summary) found.set(summary.id, summary);
  }
  let before: string | undefined;
  do {
    if (found.size >= maxConversations) return { found: [...found.values()], isComplete: false };
    const page = await conversations.list({ limit: 200, ...(before !== undefined && { before }) });
    const used = page.items.filter(({ usedAt }) => usedAt >= since - usedLateMs);
    for (const summary of used) found.set(summary.id, summary);
    before = used.length < page.items.length ? undefined : page.before;
  } while (before !== undefined);
  return { found: [...found.values()], isComplete: true };
}

async function readDecisions(
  conversations: Conversations,
  since: number,
): Promise<{ readonly decisions: Decision[]; readonly isComplete: boolean }> {
  const decisions: Decision[] = [];
  const { found, isComplete: isAll } = await findConversations(conversations, since);
  let isComplete = isAll;
  for (const summary of found) {
    const read = await readTurns(conversations, summary.id);
    isComplete &&= read.isComplete;
    decisions.push(...decisionsIn(summary, read.turns).filter(({ at }) => at >= since));
  }
  return { decisions, isComplete };
}

/**
 * Creates the plugin that lists decisions. List it after `conversations` and `records`. Without
 * `records`, nothing stays of a decision after its conversation is deleted.
 *
 * @example
 * import { createKernel } from "doorward";
 * import { conversations, sqlite } from "doorward/plugins/conversations";
 * import { decisions } from "doorward/plugins/decisions";
 * import { records } from "doorward/plugins/records";
 * const home = "/var/lib/bot";
 * const kernel = createKernel([conversations({ home }), records({ home }), decisions()]);
 * await kernel.start();
 * const since = Date.now() - 604_800_000;
 * const { decisions: latest } = await kernel.services.decisions.list({ since });
 */
export function decisions(): Plugin<DecisionsShape> {
  return {
    name: "decisions",
    api: 1,
    config: { section: "store", schema: decisionsSchema },

    start({ uses: { conversations, records }, clock, log, random, config, after, onReady }) {
      const kept =
        conversations &&
        records &&
        new LinesOfDeleted({
          records: records<KeptLines>("lines"),
          conversations,
          clock,
          log,
          random,
          keepDays: () => config().decisions_days,
        });
      if (kept) conversations?.beforeDeletion?.(kept.note);
      const purge = (): void => {
        kept
          ?.purge()
          .catch((err: unknown) => log.warn({ err }, "old lines about decisions were not removed"));
        after(purgeEveryMs, purge);
      };
      onReady(() => void after(firstPurgeMs, purge));

      async function list({
        since,
        limit = 200,
      }: {
        readonly since: number;
        readonly limit?: number;
      }): Promise<DecisionList> {
        const read = conversations
          ? await readDecisions(conversations, since)
          : { decisions: [], isComplete: true };
        const lines = (await kept?.list()) ?? [];
        const deleted = lines
          .filter(({ at }) => at >= since)
          .map((line): Decision => ({ ...line, isDeleted: true }));
        const all = [...read.decisions, ...deleted].toSorted((a, b) => b.at - a.at);
        const most = Math.min(limit, maxLimit);
        const isComplete = read.isComplete && all.length <= most;
        return { decisions: all.slice(0, most), isComplete };
      }
      return { decisions: { list } };
    },
  };
}
