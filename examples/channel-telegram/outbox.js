// @ts-check
// Sends, edits and removes messages. A text over the limit becomes several messages in a row.
import { codeOf } from "doorward";
import {
  createEditThrottle,
  createMessageIds,
  createSendQueue,
  splitText,
} from "doorward/plugins/channels";
import { retryAfterMs } from "./api.js";
import { askedText } from "./buttons.js";

/** Limit of Telegram. */
const maxTextLength = 4_096;
const typingRepeatMs = 4_500;
const maxTypingRepeats = 60;
const marks = {
  thought: "\u{1F4AD} ",
  tool_calls: "\u{1F527} ",
  plan: "\u{1F4CB} ",
  notice: "\u{2139}\u{FE0F} ",
};

/**
 * @typedef {{ content: string, kind?: "thought" | "tool_calls" | "plan" | "notice", inReplyTo?: string, final?: boolean, question?: import("./buttons.js").Question }} Outgoing
 * @typedef {import("doorward/plugins/channels").Receipt} Receipt
 * @typedef {{ session: string, id: string, text: string, isLast: boolean }} Edit
 * @typedef {Pick<import("doorward").Scope<{}>, "clock" | "after" | "log">} Tools
 */

/** Telegram rejects messages without visible text. @param {string} text */
const partsOf = (text) => splitText(text, maxTextLength).filter((part) => part.trim() !== "");
/** @param {Outgoing} message */
const textOf = ({ kind, ...message }) => (kind ? marks[kind] : "") + askedText(message);
/** @param {unknown} error */
const isUnchanged = (error) => /message is not modified/.test(String(error));

/** @param {import("./api.js").Call} call @param {Tools} tools @param {number} intervalMs @param {ReturnType<typeof import("./buttons.js").createButtons>} buttons */
export function createOutbox(call, { clock, after, log }, intervalMs, buttons) {
  const queue = createSendQueue({ after, retryAfterMs });
  const ids = createMessageIds();
  /** @type {Map<string, () => void>} */
  const typingTimers = new Map();
  /** @type {import("doorward/plugins/channels").EditThrottle<Edit, Receipt>} */
  const throttle = createEditThrottle({
    clock,
    after,
    intervalMs,
    edit: (_, edit) => replace(edit),
    failed: (id, err) => log.warn({ id, code: codeOf(err) }, "an update was not sent"),
  });

  /** @param {string} session @param {string} method @param {object} params */
  const ask = (session, method, params) =>
    queue.add(session, () => call(method, { chat_id: Number(session), ...params }));

  /** @param {string} session @param {string} text @param {object} [more] @returns {Promise<string>} */
  const create = async (session, text, more) =>
    String((await ask(session, "sendMessage", { text, ...more })).message_id);

  /** Waits for all calls, so that no part is left behind. @param {Promise<any>[]} calls */
  async function all(calls) {
    await Promise.allSettled(calls);
    return Promise.all(calls);
  }

  /** @param {string} id @param {unknown} error @returns {Receipt} */
  function undelivered(id, error) {
    if (["rate_limited", "not_running"].includes(codeOf(error))) throw error;
    return { id, status: "undelivered", reason: /** @type {Error} */ (error).message };
  }

  /**
   * Edits the last message and appends new ones. The last update edits all messages, because an
   * update may replace the whole text.
   *
   * @param {Edit} edit @returns {Promise<Receipt>}
   */
  async function replace({ session, id, text, isLast }) {
    const known = ids.networkIds(session, id) ?? [];
    const parts = partsOf(text);
    const first = isLast ? 0 : Math.max(0, known.length - 1);
    const calls = parts.slice(first).map(async (part, index) => {
      const messageId = known[first + index];
      if (messageId === undefined) return create(session, part);
      const params = { message_id: Number(messageId), text: part };
      await ask(session, "editMessageText", params).catch((error) => {
        if (!isUnchanged(error)) throw error;
      });
      return messageId;
    });
    const surplus = parts.length === 0 ? [] : known.slice(parts.length);
    for (const messageId of surplus)
      calls.push(ask(session, "deleteMessage", { message_id: Number(messageId) }));
    const shown = (await all(calls)).slice(0, parts.length - first);
    if (parts.length > 0) ids.set(session, id, [...known.slice(0, first), ...shown]);
    return { id, status: "written" };
  }

  /** @param {string} session */
  const stopTyping = (session) => {
    typingTimers.get(session)?.();
    typingTimers.delete(session);
  };

  /** Telegram hides the indicator after 5 s. @param {string} session @param {number} left */
  function keepTyping(session, left) {
    ask(session, "sendChatAction", { action: "typing" }).catch(() => {});
    if (left > 0)
      typingTimers.set(
        session,
        after(typingRepeatMs, () => keepTyping(session, left - 1)),
      );
  }

  return {
    ids,

    /** @param {string} session @param {string} id @param {Outgoing} message @returns {Promise<Receipt>} */
    async send(session, id, message) {
      const parts = partsOf(textOf(message));
      if (parts.length === 0)
        return { id, status: "undelivered", reason: "the message has no text" };
      const { inReplyTo = "" } = message;
      const origin = Number(ids.networkIds(session, inReplyTo)?.[0] ?? inReplyTo);
      const reply = origin > 0 && {
        reply_parameters: { message_id: origin, allow_sending_without_reply: true },
      };
      const keyboard = buttons.keyboard(session, id, message.question);
      try {
        const created = parts.map((part, index) =>
          create(session, part, {
            ...(index === 0 && reply),
            ...(index === parts.length - 1 && keyboard && { reply_markup: keyboard }),
          }),
        );
        ids.set(session, id, await all(created));
      } catch (error) {
        return undelivered(id, error);
      }
      if (message.final === false) throttle.sent(id);
      return { id, status: "written" };
    },

    /** @param {string} session @param {string} id @param {Outgoing} message @returns {Promise<Receipt>} */
    async update(session, id, message) {
      const { final: isLast = false } = message;
      const edit = { session, id, text: textOf(message), isLast };
      try {
        if (!isLast) return (await throttle.update(id, edit)) ?? { id, status: "written" };
        // An edit without a keyboard removes the buttons.
        const receipt = await throttle.finish(id, edit);
        if (message.question?.state === "settled") buttons.settle(session, id);
        return receipt;
      } catch (error) {
        return undelivered(id, error);
      }
    },

    /** @param {string} session @param {string} id @returns {Promise<Receipt>} */
    async remove(session, id) {
      const known = ids.networkIds(session, id) ?? [];
      try {
        await all(
          known.map((messageId) =>
            ask(session, "deleteMessage", { message_id: Number(messageId) }),
          ),
        );
      } catch (error) {
        return undelivered(id, error);
      }
      ids.delete(session, id);
      return { id, status: "written" };
    },

    /** @param {string} session @param {boolean} on */
    typing(session, on) {
      stopTyping(session);
      if (on) keepTyping(session, maxTypingRepeats);
    },

    /** Sends a note of the channel itself. @param {string} session @param {string} text */
    note: (session, text) => void create(session, text).catch(() => {}),

    close() {
      for (const session of [...typingTimers.keys()]) stopTyping(session);
      throttle.close();
      queue.close();
    },
  };
}
