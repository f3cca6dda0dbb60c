/* Two channels and one application: what somebody says on one is said on the other, in the session of the same name. */
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
  // One more bridge is crossed: after four the message is refused, and its sender hears of a loop.
  const { status } = await kernel.services.channels.send(to, { content, hops: hops + 1 });
  if (status === "undelivered") throw new Error("nobody is at the other end");
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
    config: { "channels.pico": { enabled: true }, "channels.mqtt": { url: MQTT_URL } },
    signal: stop.signal,
  },
);
await kernel.start();
console.log(`listening ${kernel.services.http.addresses()[0]?.href}`);
