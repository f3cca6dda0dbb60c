// @ts-check
// Fetches messages by long polling. Telegram keeps messages for 24 hours until they are confirmed.
import * as z from "zod";
import { retryAfterMs } from "./api.js";

const pollS = 50;
const pollTimeoutMs = 60_000;
/** Messages that the application may work on; with more, the next poll waits. */
const maxPending = 100;
const [firstPauseMs, lastPauseMs] = [1_000, 30_000];

const messageSchema = z.object({
  message_id: z.int(),
  date: z.int(),
  text: z.string().optional(),
  chat: z.object({ id: z.int(), type: z.string() }),
  from: z.object({ id: z.int(), is_bot: z.boolean() }).optional(),
  reply_to_message: z.object({ message_id: z.int() }).optional(),
});
const pressSchema = z.object({
  id: z.string().max(256),
  from: z.object({ id: z.int(), first_name: z.string().max(256).optional() }),
  data: z.string().max(64),
  message: messageSchema.pick({ message_id: true, chat: true }),
});
const updatesSchema = z.array(
  z.object({
    update_id: z.int(),
    message: z.unknown().optional(),
    callback_query: z.unknown().optional(),
  }),
);

/** @typedef {z.output<typeof messageSchema>} TelegramMessage */
/** @typedef {z.output<typeof pressSchema>} ButtonPress */
/**
 * @typedef {object} PollerOptions
 * @property {import("./api.js").Call} call
 * @property {import("doorward").Scope<{}>["after"]} after
 * @property {import("doorward").Log} log
 * @property {(message: TelegramMessage) => Promise<void>} take resolves when the next one may come; never rejects
 * @property {(press: ButtonPress) => Promise<void>} press as take
 */

/** Begins to poll. @param {PollerOptions} options */
export function createPoller({ call, after, log, take, press }) {
  const controller = new AbortController();
  const { signal } = controller;
  /** @type {Set<Promise<void>>} */
  const pending = new Set();
  let [offset, confirmed] = [0, 0];
  let pauseMs = firstPauseMs;

  /** @param {unknown} raw */
  function receive(raw) {
    for (const { update_id: id, message, callback_query: query } of updatesSchema.parse(raw)) {
      offset = id + 1;
      const { data } = messageSchema.safeParse(message);
      const { data: pressed } = pressSchema.safeParse(query);
      const begun = data ? take(data) : pressed && press(pressed);
      if (!begun) continue;
      const taken = begun.finally(() => {
        pending.delete(taken);
        wake();
      });
      pending.add(taken);
    }
  }

  async function poll() {
    const params = {
      offset,
      limit: maxPending - pending.size,
      timeout: pollS,
      allowed_updates: ["message", "callback_query"],
    };
    const updates = await call("getUpdates", params, { signal, timeoutMs: pollTimeoutMs });
    confirmed = params.offset;
    pauseMs = firstPauseMs;
    if (!signal.aborted) receive(updates);
  }

  let endPause = () => {};
  /** @param {number} ms */
  async function pause(ms) {
    /** @type {Promise<void>} */
    const ended = new Promise((resolve) => {
      endPause = resolve;
    });
    const cancel = after(ms, endPause);
    await ended;
    cancel();
  }
  /** Ends the wait for room for more messages. */
  let wake = () => {};
  /** @returns {Promise<void>} */
  const room = () =>
    new Promise((resolve) => {
      wake = resolve;
    });

  async function run() {
    while (!signal.aborted) {
      try {
        await poll();
      } catch (error) {
        if (signal.aborted) break;
        const reason = /** @type {Error} */ (error).message;
        log.warn({ reason }, "cannot fetch messages; trying again");
        await pause(retryAfterMs(error) ?? pauseMs);
        pauseMs = Math.min(lastPauseMs, pauseMs * 2);
      }
      while (pending.size >= maxPending && !signal.aborted) await room();
    }
  }
  const running = run();

  return {
    /** Ends the poll, and confirms the received messages so that Telegram does not repeat them. */
    async stop() {
      controller.abort();
      endPause();
      wake();
      await running;
      if (offset > confirmed)
        await call("getUpdates", { offset, limit: 1, timeout: 0 }, { timeoutMs: 5_000 }).catch(
          () => {},
        );
    },
  };
}
