// @ts-check
// Payloads of the topics. In: text, or JSON with `content` and optional `id` and `hops`, or with an
// `answer` to a question. Out: JSON.

/**
 * @typedef {{ id: string | undefined, content: string, hops: number }} InboundPayload
 * @typedef {{ id: string, answer: import("doorward/plugins/channels").QuestionAnswer }} InboundAnswer
 * @typedef {{ type: "create" | "update" | "remove" | "typing" | "answer" | "error", [field: string]: unknown }} Frame
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

/** @param {unknown} value @returns {value is string} */
const isText = (value) => typeof value === "string";
/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** Reads the answer of a button or a script; undefined if the payload is a message. @param {Buffer} payload @returns {InboundAnswer | undefined} */
export function readAnswer(payload) {
  const { answer } = fieldsOf(payload.toString("utf8"));
  if (!isObject(answer) || !isText(answer.id) || answer.id.length > 128) return undefined;
  const { id, option, options, values, text, dismiss } = answer;
  return {
    id,
    answer: {
      ...(isText(option) && { option }),
      ...(Array.isArray(options) && { options: options.slice(0, 8).filter(isText) }),
      ...(isObject(values) && { values }),
      ...(isText(text) && { text }),
      ...(dismiss === true && { dismiss }),
    },
  };
}

/** Returns what a client needs to draw buttons, and to remove them. @param {import("doorward/plugins/channels").Question} question */
export function toQuestion({ durable: _, toolCallId: __, expiresAt, ...question }) {
  return { ...question, expires_at: expiresAt };
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
