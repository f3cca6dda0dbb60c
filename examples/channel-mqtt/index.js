// @ts-check
// Offers the topics of an MQTT broker as a channel. Clients publish on `<prefix>/<session>/in` and
// receive replies on `<prefix>/<session>/out`; `<prefix>/status` is online or offline. The broker
// controls the access to topics.
import { readFile } from "node:fs/promises";
import { codeOf } from "doorward";
import { defineChannel } from "doorward/plugins/channels";
import * as z from "zod";
import { isSession, read, readAnswer, sessionOf, toQuestion, write } from "./frames.js";
import { createLink } from "./link.js";

const schema = z.strictObject({
  url: z
    .string()
    .regex(
      /^(mqtts?|wss?):\/\/[^@]+$/,
      "expected mqtt://host or mqtts://host, without user and password",
    )
    .default("mqtt://127.0.0.1:1883"),
  user: z.string().default("doorward"),
  prefix: z
    .string()
    .regex(/^[\w.-]+(\/[\w.-]+)*$/, "expected levels of a topic, like home/doorward")
    .default("doorward"),
  client_id: z.string().min(1).max(64).default("doorward"),
  ca_file: z.string().default(""),
});

/** The mqtt token is the password. */
export default () =>
  defineChannel({
    name: "mqtt",
    schema,
    token: true,

    async start({ attach, token, config, log, random, onReady, onStop }) {
      const { url, user, prefix, client_id: clientId, ca_file: caFile } = config();
      const ca = caFile === "" ? undefined : await readFile(caFile, "utf8");
      /** @type {ReturnType<typeof createLink> | undefined} */
      let link;
      let taking = false;
      let connect = () => {};
      /** Ends when the link exists: questions of an earlier process are closed before that. @type {Promise<void>} */
      const connected = new Promise((resolve) => (connect = resolve));
      const out = (/** @type {string} */ session) => `${prefix}/${session}/out`;

      /** @param {string} session @param {string} id @param {import("./frames.js").Frame} frame
       *  @returns {Promise<import("doorward/plugins/channels").Receipt>} */
      async function publish(session, id, frame) {
        await connected;
        if (!link || !isSession(session))
          return { id, status: "undelivered", reason: "no such session" };
        const sent = link.publish(out(session), write(frame)).then((status) => ({ id, status }));
        sent.then(
          (receipt) => channel.receipt(session, receipt),
          () => {},
        );
        // While the broker is away, the message waits here; a receipt reports the outcome.
        return Promise.race([
          sent,
          link.cut().then(() => ({ id, status: /** @type {const} */ ("buffered") })),
        ]);
      }

      /** @param {string} session @param {string} id @param {string} code */
      const report = (session, id, code) =>
        void publish(session, id, { type: "error", code, in_reply_to: id }).catch(() => {});

      const channel = attach({
        accepts: "console",
        send: (session, id, { content, kind, inReplyTo, hops = 0, final = true, question }) =>
          publish(session, id, {
            type: "create",
            id,
            content,
            ...(kind && { kind }),
            ...(inReplyTo && { in_reply_to: inReplyTo }),
            ...(hops && { hops }),
            ...(!final && { final }),
            ...(question && { question: toQuestion(question) }),
          }),
        update: (session, id, { content, final = false, question }) =>
          publish(session, id, {
            type: "update",
            id,
            content,
            final,
            ...(question && { question: toQuestion(question) }),
          }),
        remove: (session, id) => publish(session, id, { type: "remove", id }),
        failed: (session, id, error) => report(session, id, codeOf(error)),
        turn({ session, id, content, protocol }) {
          if (protocol !== "dashboard") return;
          void publish(session, id, { type: "create", id, content, from: "owner" }).catch(() => {});
        },
        typing(session, on) {
          if (isSession(session)) link?.hint(out(session), write({ type: "typing", on }));
        },
      });
      onStop(() => {
        connect();
        return link?.close();
      });

      /** Answers a question, and publishes the effect. The broker may repeat an answer: the first one
       *  counts. @param {string} session @param {import("./frames.js").InboundAnswer} given */
      async function answer(session, { id, answer: given }) {
        try {
          const { status, problem } = await channel.answer(session, id, given);
          await publish(session, id, { type: "answer", id, status, ...(problem && { problem }) });
        } catch (error) {
          report(session, id, codeOf(error));
        }
      }

      /** @param {string} topic @param {Buffer} payload */
      function heard(topic, payload) {
        const session = sessionOf(topic);
        if (!isSession(session)) return log.warn({ topic }, "this topic names no session");
        const answered = readAnswer(payload);
        if (answered && taking) return void answer(session, answered);
        if (answered) return report(session, answered.id, "not_running");
        const { id = Buffer.from(random(8)).toString("hex"), content, hops } = read(payload);
        if (!taking) return report(session, id, "not_running");
        // After a disconnect the broker may repeat a message; its id identifies duplicates.
        channel
          .deliver({ session, id, content, hops }, { dedupe: true })
          .catch((error) => report(session, id, codeOf(error)));
      }

      onReady(async () => {
        taking = true;
        link = createLink({ url, clientId, prefix, user, password: token.reveal, ca, log, heard });
        connect();
        await link.tried();
        return async () => {
          taking = false;
        };
      });
    },
  });
