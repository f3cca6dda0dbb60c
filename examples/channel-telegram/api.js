// @ts-check
// Calls methods of the Bot API. The token is part of the address, so no error contains an address.
import { errorTable } from "doorward";

export const telegramErrors = errorTable({
  TELEGRAM_TOKEN:
    'The telegram token is missing or malformed; set SERVICE_CHANNELS_TELEGRAM_TOKEN to "<id>:<secret>" from @BotFather.',
  TELEGRAM_REFUSED:
    "Telegram rejects the token; ask @BotFather for the current one and set SERVICE_CHANNELS_TELEGRAM_TOKEN.",
  rate_limited: (/** @type {string} */ method) => `Telegram limits the rate of ${method}.`,
  undeliverable: (/** @type {string} */ method, /** @type {string} */ reason) =>
    `Telegram rejects ${method}: ${reason}.`,
  unreachable: (/** @type {string} */ reason) => `The Bot API is not reachable: ${reason}.`,
});

const maxReplyBytes = 4_000_000;

/**
 * @typedef {(method: string, params?: object, options?: { signal?: AbortSignal, timeoutMs?: number }) => Promise<any>} Call
 */

/**
 * Returns the function that calls a method. It rejects with `rate_limited` and
 * `details.retryAfterMs`, `undeliverable`, `unreachable` or `TELEGRAM_REFUSED`.
 *
 * @param {string} apiUrl
 * @param {() => string | undefined} token read at every call
 * @returns {Call}
 */
export function createApi(apiUrl, token) {
  return async function call(method, params = {}, { signal, timeoutMs = 15_000 } = {}) {
    const secret = token()?.trim() ?? "";
    if (!/^\d+:[\w-]+$/.test(secret)) throw telegramErrors.TELEGRAM_TOKEN();
    const limit = AbortSignal.timeout(timeoutMs);
    const reply = await request(`${apiUrl.replace(/\/$/, "")}/bot${secret}/${method}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(params),
      redirect: "error",
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    if (reply.ok === true) return reply.result;
    throw toError(method, reply);
  };
}

/** @param {string} url @param {RequestInit} init @returns {Promise<Record<string, any>>} */
async function request(url, init) {
  try {
    const reply = JSON.parse(await textOf(await fetch(url, init)));
    if (typeof reply !== "object" || reply === null) throw new SyntaxError("no object");
    return reply;
  } catch (error) {
    throw telegramErrors.unreachable(reasonOf(error));
  }
}

/** Reads the reply up to its limit. @param {Response} response */
async function textOf({ body }) {
  const chunks = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > maxReplyBytes) throw new RangeError("the reply is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** @param {any} error */
const reasonOf = (error) => String(error?.cause?.code ?? error?.name ?? "unknown");

/** @param {string} method @param {Record<string, any>} reply */
function toError(method, { error_code: code, description = "no description", parameters }) {
  const retryAfter = Number(parameters?.retry_after);
  if (code === 429 && retryAfter >= 0)
    return telegramErrors.rate_limited(method, { details: { retryAfterMs: retryAfter * 1_000 } });
  if (code === 401 || (code === 404 && method === "getMe"))
    return telegramErrors.TELEGRAM_REFUSED();
  return telegramErrors.undeliverable(method, String(description).slice(0, 200));
}

/** @param {unknown} error @returns {number | undefined} */
export const retryAfterMs = (error) =>
  /** @type {{ details?: { retryAfterMs?: number } }} */ (error)?.details?.retryAfterMs;
