// Runs two services in one process, each with its own brand, port, tokens and environment.
import { createKernel } from "doorward";
import { fromEnvironment } from "doorward/config";
import { channels } from "doorward/plugins/channels";
import { dashboard } from "doorward/plugins/dashboard";
import { echo } from "doorward/plugins/echo";
import { http } from "doorward/plugins/http";
import { picoServer } from "doorward/plugins/pico-server";
import { tokenStore } from "doorward/plugins/token-store";

async function service(brand: string) {
  const given = fromEnvironment(process.env, { brand });
  const plugins = [
    tokenStore(given.tokens),
    channels(),
    http({ port: 0 }),
    picoServer({ envPrefix: brand.toUpperCase() }),
    dashboard({ brand }),
    echo(),
  ] as const;
  return createKernel(plugins, await given.load(plugins));
}

const kernels = { acme: await service("acme"), umbrella: await service("umbrella") };
for (const [brand, kernel] of Object.entries(kernels)) {
  await kernel.start();
  console.log(brand, "listening", kernel.services.http.addresses()[0]?.href);
}
process.once(
  "SIGTERM",
  () => void Promise.all(Object.values(kernels).map((kernel) => kernel.stop())),
);
