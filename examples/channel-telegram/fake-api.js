// @ts-check
// A Bot API server for the tests, with users whose chats it keeps.
import { once } from "node:events";
import { createServer } from "node:http";
import { createQueue } from "doorward/testing";

export const botToken = "4711:correct-horse-battery-staple";
const maxTextLength = 4_096;

/** @typedef {{ status: number, description: string, retryAfter?: number }} Failure */

export async function startFakeApi({ port = 0 } = {}) {
  /** @type {{ update_id: number, message?: object, callback_query?: object }[]} */
  let updates = [];
  /** @type {Map<number, ReturnType<typeof createQueue<any>>>} */
  const users = new Map();
  /** Chat and message -> text. @type {Map<string, string>} */
  const texts = new Map();
  /** Chat and message -> buttons. @type {Map<string, string>} */
  const keyboards = new Map();
  /** Method -> failures of the next calls. @type {Map<string, Failure[]>} */
  const failures = new Map();
  /** @type {Set<() => void>} */
  const polls = new Set();
  /** @type {ReturnType<typeof createQueue<{ method: string, params: any, isFailure: boolean }>>} */
  const calls = createQueue(20_000);
  let [updateId, messageId, presses] = [100, 0, 0];

  /** @param {number} status @param {string} description @param {number} [retryAfter] */
  const failure = (status, description, retryAfter) => ({
    status,
    body: {
      ok: false,
      error_code: status,
      description,
      ...(retryAfter !== undefined && { parameters: { retry_after: retryAfter } }),
    },
  });
  /** Checks and keeps the buttons of a message. @param {string} key @param {any} [markup] */
  function keep(key, markup) {
    const before = keyboards.get(key) ?? "";
    /** @type {{ callback_data: string }[][]} */
    const rows = markup?.inline_keyboard ?? [];
    const isTooLong = rows.flat().some((button) => Buffer.byteLength(button.callback_data) > 64);
    if (isTooLong) return failure(400, "Bad Request: BUTTON_DATA_INVALID");
    const after = rows.length === 0 ? "" : JSON.stringify(rows);
    keyboards.set(key, after);
    return before !== after;
  }
  /** @param {object} update */
  function push(update) {
    updateId += 1;
    updates.push({ update_id: updateId, ...update });
    for (const wake of polls) wake();
    polls.clear();
  }
  /** @param {number} chat @param {object} event */
  const show = (chat, event) => users.get(chat)?.push(event);

  /** @type {Record<string, (params: any) => any>} */
  const methods = {
    getMe: () => ({ id: 4711, is_bot: true, username: "test_bot" }),
    async getUpdates({ offset = 0, timeout = 0, limit = 100 }) {
      updates = updates.filter(({ update_id: id }) => id >= offset);
      if (updates.length === 0 && timeout > 0)
        await new Promise((resolve) => void polls.add(() => resolve(undefined)));
      return updates.slice(0, limit);
    },
    sendMessage({ chat_id: chat, text, reply_parameters: reply, reply_markup: markup }) {
      if (!users.has(chat)) return failure(400, "Bad Request: chat not found");
      if (text.trim() === "") return failure(400, "Bad Request: message text is empty");
      if (text.length > maxTextLength) return failure(400, "Bad Request: message is too long");
      messageId += 1;
      const kept = keep(`${chat} ${messageId}`, markup);
      if (typeof kept === "object") return kept;
      texts.set(`${chat} ${messageId}`, text);
      const buttons = markup?.inline_keyboard.flat();
      show(chat, { what: "create", id: String(messageId), text, reply, buttons });
      return { message_id: messageId, date: 0, chat: { id: chat } };
    },
    editMessageText({ chat_id: chat, message_id: id, text, reply_markup: markup }) {
      const before = texts.get(`${chat} ${id}`);
      if (before === undefined) return failure(400, "Bad Request: message to edit not found");
      const isMarked = keep(`${chat} ${id}`, markup);
      if (before === text && !isMarked) return failure(400, "Bad Request: message is not modified");
      if (text.length > maxTextLength) return failure(400, "Bad Request: message is too long");
      texts.set(`${chat} ${id}`, text);
      show(chat, { what: "update", id: String(id), text });
      return true;
    },
    editMessageReplyMarkup({ chat_id: chat, message_id: id, reply_markup: markup }) {
      if (!keep(`${chat} ${id}`, markup))
        return failure(400, "Bad Request: message is not modified");
      show(chat, { what: "buttons", id: String(id) });
      return true;
    },
    answerCallbackQuery({ callback_query_id: id, text }) {
      const [, chat] = /^press (\d+) /.exec(id) ?? [];
      show(Number(chat), { what: "pressed", id, text });
      return true;
    },
    deleteMessage({ chat_id: chat, message_id: id }) {
      if (!texts.delete(`${chat} ${id}`)) return failure(400, "Bad Request: message not found");
      show(chat, { what: "remove", id: String(id) });
      return true;
    },
    sendChatAction({ chat_id: chat }) {
      show(chat, { what: "typing", on: true });
      return true;
    },
  };

  /** @param {string} path @param {any} params */
  async function answer(path, params) {
    const [, token, method = ""] = /^\/bot([^/]+)\/(\w+)$/.exec(path) ?? [];
    if (token !== botToken) return failure(401, "Unauthorized");
    const planned = failures.get(method)?.shift();
    if (method !== "getUpdates") calls.push({ method, params, isFailure: planned !== undefined });
    if (planned) return failure(planned.status, planned.description, planned.retryAfter);
    const result = await methods[method]?.(params);
    return result?.body ? result : { status: 200, body: { ok: true, result } };
  }

  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const params = JSON.parse(Buffer.concat(chunks).toString("utf8") || "{}");
    const { status, body } = await answer(request.url ?? "", params);
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  });
  await once(server.listen(port, "127.0.0.1"), "listening");
  const address = /** @type {import("node:net").AddressInfo} */ (server.address());

  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    /** All calls except polls, in order. */
    calls,
    /** Lets the next calls of a method fail. @param {string} method @param {...Failure} next */
    fail: (method, ...next) => failures.set(method, next),
    /** Opens the private chat of a user. @param {number} id */
    user(id) {
      const events = createQueue(20_000);
      users.set(id, events);
      return {
        events,
        /** @param {string | object} content @param {object} [more] */
        say(content, more = {}) {
          messageId += 1;
          const message = {
            message_id: messageId,
            date: Math.floor(Date.now() / 1_000),
            chat: { id, type: "private" },
            from: { id, is_bot: false },
            ...(typeof content === "string" ? { text: content } : content),
            ...more,
          };
          push({ message });
        },
        /** Presses a button of a message. @param {string} message @param {string} data @param {object} [more] */
        press(message, data, more = {}) {
          presses += 1;
          const origin = { message_id: Number(message), date: 0, chat: { id, type: "private" } };
          const from = { id, is_bot: false, first_name: "Ann" };
          const query = { id: `press ${id} ${presses}`, from, message: origin, data, ...more };
          push({ callback_query: query });
        },
        /** Returns the buttons that the chat shows. @param {string} message */
        buttons: (message) => JSON.parse(keyboards.get(`${id} ${message}`) || "[]").flat(),
      };
    },
    async close() {
      for (const wake of polls) wake();
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}
