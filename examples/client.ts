// A service that is a client of another service: it receives messages of that channel and opens no
// port.
import { createKernel } from "doorward";
import { application, channels } from "doorward/plugins/channels";
import { picoClient } from "doorward/plugins/pico-client";
import { memory, tokenStore } from "doorward/plugins/token-store";

const kernel = createKernel(
  [
    tokenStore(memory({ pico_client: "correct-horse-battery-staple" })),
    channels(),
    picoClient(),
    application(({ content }) => console.log(`they said ${content}`)),
  ],
  {
    config: {
      "channels.pico_client": {
        enabled: true,
        url: process.env["PICO_URL"] ?? "ws://127.0.0.1:8080/pico",
      },
    },
  },
);
kernel.on("pico-client:link-changed", ({ to, reason }) => console.log(`link ${to} (${reason})`));

await kernel.start();
process.once("SIGTERM", () => void kernel.stop());
await kernel.services.picoLink.send({ content: "hello" });
