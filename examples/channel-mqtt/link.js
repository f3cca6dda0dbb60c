// @ts-check
/* The connection to the broker: it comes back by itself, and what was published meanwhile goes out then. */
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
 * @property {string} clientId names the session that the broker keeps for us while we are away
 * @property {string} prefix
 * @property {string} user
 * @property {() => string | undefined} password asked at every attempt
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
  /** Numbers of packets that the broker had nobody to give to. @type {Set<number | undefined>} */
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
    // A retained one is not said now: the broker repeats it to whoever comes.
    if (!retain) heard(topic, payload);
  });
  client.on("error", (error) => {
    client.options.password = password() ?? "";
    if (isRefusal(error)) client.options.reconnectPeriod = 30_000;
    log.warn({ reason: error.message }, "not connected to the broker; trying again");
  });

  return {
    /** Resolves when the first attempt went well or the broker is away; rejects when it will never go well. */
    async tried() {
      if (client.connected) return;
      const error = await new Promise((resolve) => {
        client.once("connect", () => resolve(undefined)).once("error", resolve);
      });
      if (isRefusal(error)) throw mqttErrors.MQTT_REFUSED(error.message, { cause: error });
      if (isUntrusted(error)) throw mqttErrors.MQTT_UNTRUSTED(error.message, { cause: error });
    },

    /** Resolves when the broker has it: to "undelivered" when it has nobody to give it to. Rejects `outbox_full`.
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

    /** Now or never. @param {string} topic @param {string} text */
    hint: (topic, text) => void client.publish(topic, text, { qos: 0 }, () => {}),

    /** Resolves when the connection is cut; at once when there is none. */
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
