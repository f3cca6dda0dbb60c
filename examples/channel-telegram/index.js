// @ts-check
// Offers a Telegram bot as a channel. Each private chat with an allowed user is a session. The
// channel fetches messages by long polling, so it needs no public address.
import { codeOf } from "doorward";
import { defineChannel } from "doorward/plugins/channels";
import * as z from "zod";
import { createApi } from "./api.js";
import { createButtons } from "./buttons.js";
import { createOutbox } from "./outbox.js";
import { createPoller } from "./poller.js";

const schema = z.strictObject({
  allow: z
    .array(z.string().regex(/^\d{1,16}$/, 'expected ids of Telegram users, like "12345678"'))
    .max(1_000)
    .default([]),
  api_url: z
    .string()
    .regex(
      /^(https:\/\/[^@\s?#]+|http:\/\/(127\.0\.0\.1|localhost|\[::1\])(:\d+)?\/?)$/,
      "expected https://host, or http://127.0.0.1:port for a server on this machine",
    )
    .default("https://api.telegram.org"),
  edit_interval_ms: z.int().min(0).max(60_000).default(1_000),
});

const refusalIntervalMs = 60_000;
const maxRefusals = 1_000;
const getMeTimeoutMs = 5_000;

/**
 * @typedef {import("doorward/plugins/channels").Receipt} Receipt
 */

/** The telegram token is the token of the bot. */
export default () =>
  defineChannel({
    name: "telegram",
    schema,
    token: true,

    start({ attach, token, config, onConfig, clock, after, log, random, onReady, onStop }) {
      const { api_url: apiUrl, edit_interval_ms: intervalMs } = config();
      const call = createApi(apiUrl, token.reveal);
      const buttons = createButtons(random);
      const outbox = createOutbox(call, { clock, after, log }, intervalMs, buttons);
      const isAllowed = (/** @type {string} */ user) => config().allow.includes(user);
      onConfig((next, before) => ({
        afterRestart: Object.keys(next).filter(
          (key) => key !== "allow" && Reflect.get(next, key) !== Reflect.get(before, key),
        ),
      }));

      /** @param {string} session @param {string} id @param {() => Promise<Receipt>} step */
      const ifAllowed = async (session, id, step) =>
        isAllowed(session)
          ? step()
          : { id, status: /** @type {const} */ ("undelivered"), reason: "the user is not allowed" };
      /** @param {string} session @param {unknown} error */
      const report = (session, error) =>
        outbox.note(session, `Your message failed (${codeOf(error)}). Send it again later.`);

      const channel = attach({
        accepts: "console",
        send: (session, id, message) =>
          ifAllowed(session, id, () => outbox.send(session, id, message)),
        update: (session, id, message) =>
          ifAllowed(session, id, () => outbox.update(session, id, message)),
        remove: (session, id) => ifAllowed(session, id, () => outbox.remove(session, id)),
        typing(session, on) {
          if (isAllowed(session)) outbox.typing(session, on);
        },
        failed: (session, _, error) => report(session, error),
        turn({ session, content, protocol }) {
          if (protocol === "dashboard" && isAllowed(session))
            outbox.note(session, `Owner: ${content}`);
        },
      });
      onStop(() => outbox.close());

      /** User id -> time of the last refusal. @type {Map<string, number>} */
      const refusals = new Map();
      /** @param {string} user */
      function refuse(user) {
        const now = clock.monotonic();
        if (now - (refusals.get(user) ?? -Infinity) < refusalIntervalMs) return;
        if (refusals.size >= maxRefusals) refusals.clear();
        refusals.set(user, now);
        log.warn({ user }, "rejected a Telegram user who is not in channels.telegram.allow");
        outbox.note(
          user,
          `You are not allowed to use this bot; ask its owner to allow the Telegram user ${user}.`,
        );
      }

      /** @param {import("./poller.js").TelegramMessage} message */
      async function take({
        message_id: messageId,
        date,
        text,
        chat,
        from,
        reply_to_message: origin,
      }) {
        if (chat.type !== "private" || from === undefined || from.is_bot) return;
        const session = String(chat.id);
        if (!isAllowed(String(from.id))) return refuse(session);
        if (text === undefined) return outbox.note(session, "This bot reads text messages only.");
        const inReplyTo = origin && outbox.ids.id(session, String(origin.message_id));
        await channel
          .deliver(
            {
              session,
              id: String(messageId),
              content: text,
              sender: { id: String(from.id) },
              at: date * 1_000,
              ...(inReplyTo !== undefined && { inReplyTo }),
            },
            { dedupe: true },
          )
          .catch((error) => report(session, error));
      }

      const answered = {
        settled: "Your answer counts.",
        already: "This question is answered already.",
        unknown: "This question is no longer open.",
        invalid: "This answer is not valid.",
      };

      /** @param {string} session @param {import("./poller.js").ButtonPress} press */
      async function answerOf(session, { data, from }) {
        const choice = buttons.find(session, data);
        if (!choice) return "unknown";
        const by = { id: String(from.id), ...(from.first_name && { name: from.first_name }) };
        const { id, option } = choice;
        return (await channel.answer(session, id, { option }, by)).status;
      }

      /** Answers the question of a button. @param {import("./poller.js").ButtonPress} pressed */
      async function press(pressed) {
        const { id, from, message } = pressed;
        const session = String(message.chat.id);
        if (message.chat.type !== "private" || !isAllowed(String(from.id))) return;
        const status = await answerOf(session, pressed).catch((error) => {
          log.warn({ code: codeOf(error) }, "the answer to a question was not stored");
          return undefined;
        });
        const text = status ? answered[status] : "Your answer was not stored. Press again.";
        /** @type {[string, object][]} */
        const calls = [["answerCallbackQuery", { callback_query_id: id, text }]];
        // The buttons are from before a restart.
        if (status === "unknown") {
          const { chat, message_id: messageId } = message;
          calls.push(["editMessageReplyMarkup", { chat_id: chat.id, message_id: messageId }]);
        }
        await Promise.allSettled(calls.map(([method, params]) => call(method, params)));
      }

      onReady(async () => {
        await call("getMe", {}, { timeoutMs: getMeTimeoutMs }).catch((error) => {
          if (codeOf(error).startsWith("TELEGRAM_")) throw error;
          log.warn({ reason: error.message }, "cannot reach Telegram; trying again");
        });
        const poller = createPoller({ call, after, log, take, press });
        return () => poller.stop();
      });
    },
  });
