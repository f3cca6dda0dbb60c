// @ts-check
// Payloads of the topics. In: text, or JSON with `content` and optional `id` and `hops`. Out: JSON.

/**
 * @typedef {{ id: string | undefined, content: string, hops: number }} InboundPayload
 * @typedef {{ type: "create" | "update" | "remove" | "typing" | "error", [field: string]: unknown }} Frame
 */

/** The session of a topic `<prefix>/<session>/in`. @param {string} topic */
export const sessionOf = (topic) => /** @type {string} */ (topic.split("/").at(-2));

/** Tells whether a session identifier can be a topic level. @param {string} session */
export const isSession = (session) => /^[\w.-]{1,64}$/.test(session);

/** @param {Buffer} payload @returns {InboundPayload} */
export function read(payload) {
  const text = payload.toString("utf8");
  const { content, id, hops } = fieldsOf(text);
  if (typeof content !== "string") return { id: undefined, content: text, hops: 0 };
  return {
    content,
    id: typeof id === "string" && id !== "" && id.length <= 128 ? id : undefined,
    hops: typeof hops === "number" && Number.isInteger(hops) && hops > 0 ? Math.min(hops, 255) : 0,
  };
}

/** @param {string} text @returns {Record<string, unknown>} */
function fieldsOf(text) {
  if (!text.startsWith("{")) return {};
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** @param {Frame} frame */
export const write = (frame) => JSON.stringify(frame);
