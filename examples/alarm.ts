// Sends two wrong tokens to a dashboard and prints the alarm of the plugin in `plugin.ts`.
import { createKernel } from "doorward";
import { dashboard } from "doorward/plugins/dashboard";
import { http } from "doorward/plugins/http";
import { memory, tokenStore } from "doorward/plugins/token-store";
import { audit } from "./plugin.ts";

const kernel = createKernel(
  [
    tokenStore(memory({ launcher: "correct-horse-battery-staple" })),
    http({ port: 0 }),
    dashboard(),
    audit(),
  ],
  { config: { audit: { refusals: 2 } } },
);
kernel.on("audit:alarm-raised", ({ address, refusals }) => {
  console.log(`alarm: ${address} was refused ${refusals} times`);
});

await kernel.start();
const [address] = kernel.services.http.addresses();
for (const token of ["a wrong one", "another one"]) {
  await fetch(new URL("/login", address), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
  });
}
await kernel.stop();
