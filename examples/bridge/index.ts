// Connects two channels: passes each message to the session of the same name on the other channel.
import { createKernel } from "doorward";
import mqtt from "doorward-channel-mqtt";
import { application, channels } from "doorward/plugins/channels";
import { http } from "doorward/plugins/http";
import { picoServer } from "doorward/plugins/pico-server";
import { memory, tokenStore } from "doorward/plugins/token-store";

const { PORT = "8080", MQTT_URL = "mqtt://127.0.0.1:1883", MQTT_PASSWORD = "" } = process.env;
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());

const bridge = application(async ({ channel, session, content, hops }) => {
  const to = { channel: channel === "mqtt" ? "pico" : "mqtt", session };
  // Counts bridges: after four hops the message is rejected and its sender receives an error.
  const { status } = await kernel.services.channels.send(to, { content, hops: hops + 1 });
  if (status === "undelivered") throw new Error("no client is connected");
});

const kernel = createKernel(
  [
    tokenStore(memory({ pico: "correct-horse-battery-staple", mqtt: MQTT_PASSWORD })),
    channels(),
    http({ port: Number(PORT) }),
    picoServer(),
    mqtt(),
    bridge,
  ],
  {
    config: { "channels.mqtt": { url: MQTT_URL } },
    signal: stop.signal,
  },
);
await kernel.start();
console.log(`listening ${kernel.services.http.addresses()[0]?.href}`);
