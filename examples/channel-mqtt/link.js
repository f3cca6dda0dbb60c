// @ts-check
// The connection to the broker. It reconnects by itself and then sends the queued messages.
import { errorTable } from "doorward";
import mqtt from "mqtt";

export const mqttErrors = errorTable({
  MQTT_REFUSED: (/** @type {string} */ reason) =>
    `the broker refuses the connection (${reason}); look at channels.mqtt.user and the mqtt token.`,
  MQTT_UNTRUSTED: (/** @type {string} */ reason) =>
    `the broker's certificate is not trusted (${reason}); set channels.mqtt.ca_file to that of its authority.`,
  outbox_full: "The broker is away, and too many messages wait for it.",
});

const mostWaiting = 1_000;
const weekS = 7 * 24 * 3_600;
const noSubscribers = 16;
const online = Buffer.from("online");
const offline = Buffer.from("offline");

/**
 * @typedef {object} LinkOptions
 * @property {string} url
 * @property {string} clientId identifies the session that the broker keeps while this client is away
 * @property {string} prefix
 * @property {string} user
 * @property {() => string | undefined} password called at every attempt
 * @property {string | undefined} ca
 * @property {import("doorward").Log} log
 * @property {(topic: string, payload: Buffer) => void} heard
 */

/** @param {LinkOptions} options */
export function createLink({ url, clientId, prefix, user, password, ca, log, heard }) {
  const status = `${prefix}/status`;
  const retained = /** @type {const} */ ({ qos: 1, retain: true });
  const client = mqtt.connect(url, {
    protocolVersion: 5,
    clientId,
    clean: false,
    properties: { sessionExpiryInterval: weekS, maximumPacketSize: 1_000_000 },
    username: user,
    password: password() ?? "",
    ...(ca === undefined ? {} : { ca }),
    reconnectPeriod: 1_000,
    connectTimeout: 8_000,
    reconnectOnConnackError: true,
    queueQoSZero: false,
    will: { topic: status, payload: offline, ...retained },
  });
  let waiting = 0;
  /** Packets that the broker could not deliver to any subscriber. @type {Set<number | undefined>} */
  const unheard = new Set();
  let cut = pending();

  client.on("packetreceive", (packet) => {
    if (packet.cmd === "puback" && packet.reasonCode === noSubscribers)
      unheard.add(packet.messageId);
  });
  client.on("close", () => cut.settle());
  client.on("connect", () => {
    cut = pending();
    client.options.reconnectPeriod = 1_000;
    client.subscribe(`${prefix}/+/in`, { qos: 1 });
    client.publish(status, online, retained);
    log.info({ url }, "connected to the broker");
  });
  client.on("message", (topic, payload, { retain }) => {
    // Ignores retained messages: the broker repeats them for every new subscriber.
    if (!retain) heard(topic, payload);
  });
  client.on("error", (error) => {
    client.options.password = password() ?? "";
    if (isRefusal(error)) client.options.reconnectPeriod = 30_000;
    log.warn({ reason: error.message }, "not connected to the broker; trying again");
  });

  return {
    /** Resolves if the first attempt succeeds or the broker is away. Rejects if no attempt can succeed. */
    async tried() {
      if (client.connected) return;
      const error = await new Promise((resolve) => {
        client.once("connect", () => resolve(undefined)).once("error", resolve);
      });
      if (isRefusal(error)) throw mqttErrors.MQTT_REFUSED(error.message, { cause: error });
      if (isUntrusted(error)) throw mqttErrors.MQTT_UNTRUSTED(error.message, { cause: error });
    },

    /** Resolves when the broker has the message; "undelivered" = no subscriber. Rejects `outbox_full`.
     * @param {string} topic @param {string} text @returns {Promise<"written" | "undelivered">} */
    async publish(topic, text) {
      if (waiting >= mostWaiting) throw mqttErrors.outbox_full();
      waiting += 1;
      try {
        const sent = await client.publishAsync(topic, text, { qos: 1 });
        return unheard.delete(sent?.messageId) ? "undelivered" : "written";
      } finally {
        waiting -= 1;
      }
    },

    /** Sends the message only if connected. @param {string} topic @param {string} text */
    hint: (topic, text) => void client.publish(topic, text, { qos: 0 }, () => {}),

    /** Resolves when the connection is lost; immediately if there is none. */
    cut: () => (client.connected ? cut.promise : Promise.resolve()),

    async close() {
      if (client.connected) await client.publishAsync(status, offline, retained).catch(() => {});
      await client.endAsync(!client.connected);
    },
  };
}

function pending() {
  /** @type {() => void} */
  let settle = () => {};
  /** @type {Promise<void>} */
  const promise = new Promise((resolve) => {
    settle = resolve;
  });
  return { promise, settle };
}

/** @param {any} error */
const isRefusal = (error) => typeof error?.code === "number" && error.code >= 128;
/** @param {any} error */
const isUntrusted = (error) => /CERT|SIGNATURE|SELF_SIGNED|ISSUER/.test(String(error?.code));
