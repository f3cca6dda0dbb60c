// The application, the same in every peer: echoes a message, or streams a reply to the session.
import { askForStream, lastToken, token, tokensEveryMs, updateEveryMs } from "../settings.mjs";

let created = 0;

/** @param {"message.create" | "message.update"} type @param {string} session @param {object}
 *  payload */
export const answer = (type, session, payload) => ({
  type,
  payload,
  session_id: session,
  timestamp: Date.now(),
});

export const newId = () => `message-${String((created += 1)).padStart(24, "0")}`;

/**
 * @param {{ payload: { content: string } }} message
 * @param {string} session
 * @param {(answer: object) => void} send Sends to all connections of the session
 */
export function respond({ payload: { content } }, session, send) {
  const message_id = newId();
  if (!content.startsWith(askForStream))
    return send(answer("message.create", session, { message_id, content }));
  const { end } = writeTokens(content, (more) => (text += more));
  let text = "";
  let type = /** @type {"message.create" | "message.update"} */ ("message.create");
  const show = (/** @type {object} */ rest) => {
    send(answer(type, session, { message_id, content: text, ...rest }));
    type = "message.update";
  };
  const timer = setInterval(() => show({}), updateEveryMs);
  void end.then(() => {
    clearInterval(timer);
    show({ final: true });
  });
}

/** Writes tokens at an even rate, as a language model does.
 * @param {string} request `stream TOKENS PER_SECOND`
 * @param {(text: string) => void} write */
export function writeTokens(request, write) {
  const [tokens = 0, perSecond = 1] = request.slice(askForStream.length).split(" ").map(Number);
  const began = performance.now();
  let written = 0;
  /** @type {Promise<void>} */
  const end = new Promise((done) => {
    const timer = setInterval(() => {
      const due = Math.min(
        tokens - 1,
        Math.floor(((performance.now() - began) / 1_000) * perSecond),
      );
      for (; written < due; written += 1) write(token);
      if (written < tokens - 1) return;
      clearInterval(timer);
      write(lastToken);
      done();
    }, tokensEveryMs);
  });
  return { end };
}
