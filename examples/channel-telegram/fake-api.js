// @ts-check
// A Bot API server for the tests, with users whose chats it keeps.
import { once } from "node:events";
import { createServer } from "node:http";
import { createQueue } from "doorward/testing";

export const botToken = "4711:correct-horse-battery-staple";
const maxTextLength = 4_096;

/** @typedef {{ status: number, description: string, retryAfter?: number }} Failure */

export async function startFakeApi({ port = 0 } = {}) {
  /** @type {{ update_id: number, message: object }[]} */
  let updates = [];
  /** @type {Map<number, ReturnType<typeof createQueue<any>>>} */
  const users = new Map();
  /** Chat and message -> text. @type {Map<string, string>} */
  const texts = new Map();
  /** Method -> failures of the next calls. @type {Map<string, Failure[]>} */
  const failures = new Map();
  /** @type {Set<() => void>} */
  const polls = new Set();
  /** @type {ReturnType<typeof createQueue<{ method: string, params: any, isFailure: boolean }>>} */
  const calls = createQueue(20_000);
  let [updateId, messageId] = [100, 0];

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
    sendMessage({ chat_id: chat, text, reply_parameters: reply }) {
      if (!users.has(chat)) return failure(400, "Bad Request: chat not found");
      if (text.trim() === "") return failure(400, "Bad Request: message text is empty");
      if (text.length > maxTextLength) return failure(400, "Bad Request: message is too long");
      messageId += 1;
      texts.set(`${chat} ${messageId}`, text);
      show(chat, { what: "create", id: String(messageId), text, reply });
      return { message_id: messageId, date: 0, chat: { id: chat } };
    },
    editMessageText({ chat_id: chat, message_id: id, text }) {
      const before = texts.get(`${chat} ${id}`);
      if (before === undefined) return failure(400, "Bad Request: message to edit not found");
      if (before === text) return failure(400, "Bad Request: message is not modified");
      if (text.length > maxTextLength) return failure(400, "Bad Request: message is too long");
      texts.set(`${chat} ${id}`, text);
      show(chat, { what: "update", id: String(id), text });
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
          updateId += 1;
          messageId += 1;
          const message = {
            message_id: messageId,
            date: Math.floor(Date.now() / 1_000),
            chat: { id, type: "private" },
            from: { id, is_bot: false },
            ...(typeof content === "string" ? { text: content } : content),
            ...more,
          };
          updates.push({ update_id: updateId, message });
          for (const wake of polls) wake();
          polls.clear();
        },
      };
    },
    async close() {
      for (const wake of polls) wake();
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}
