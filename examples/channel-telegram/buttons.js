// @ts-check
// The buttons of questions. Telegram returns the data of a pressed button, at most 64 bytes, so it is
// the key of a map.

/** Settled questions whose buttons a person may still press: the message may change later. */
const maxSettled = 4_096;
const hint = "Answer in the dashboard or with `doorward answer`.";

/**
 * @typedef {import("doorward/plugins/channels").Question} Question
 * @typedef {{ session: string, id: string, option: string }} Choice
 * @typedef {{ inline_keyboard: { text: string, callback_data: string }[][] }} Keyboard
 */

/** @param {Question} question */
const hasButtons = ({ state, options = [], multiple }) =>
  state === "open" && options.length > 0 && !multiple;

/** Adds how to answer a question that has no buttons. @param {{ content: string, question?: Question }} message */
export const askedText = ({ content, question }) =>
  question?.state === "open" && !hasButtons(question) ? `${content}\n\n${hint}` : content;

/** @param {(size: number) => Uint8Array} random */
export function createButtons(random) {
  /** Key -> choice, while its question is open: Doorward limits how many are. @type {Map<string, Choice>} */
  const open = new Map();
  /** The same for settled questions, oldest first. @type {Map<string, Choice>} */
  const settled = new Map();

  /** @param {string} session @param {string} id @param {string} option */
  function keyFor(session, id, option) {
    const key = `q:${Buffer.from(random(12)).toString("base64url")}`;
    open.set(key, { session, id, option });
    return key;
  }

  return {
    /** Creates one row for each option. @param {string} session @param {string} id @param {Question} [question] @returns {Keyboard | undefined} */
    keyboard(session, id, question) {
      if (!question || !hasButtons(question)) return undefined;
      const rows = (question.options ?? []).map(({ id: option, label }) => [
        { text: label, callback_data: keyFor(session, id, option) },
      ]);
      return { inline_keyboard: rows };
    },

    /** @param {string} session @param {string} id */
    settle(session, id) {
      for (const [key, choice] of open) {
        if (choice.session !== session || choice.id !== id) continue;
        open.delete(key);
        settled.set(key, choice);
      }
      for (const key of settled.keys()) {
        if (settled.size <= maxSettled) break;
        settled.delete(key);
      }
    },

    /** Finds the choice of a button in this chat. @param {string} session @param {string} key */
    find(session, key) {
      const choice = open.get(key) ?? settled.get(key);
      return choice?.session === session ? choice : undefined;
    },
  };
}
