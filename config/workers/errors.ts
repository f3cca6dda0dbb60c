// Errors of a start with several workers.
import { errorTable } from "../../kernel/index.ts";

export const workersErrors = errorTable({
  WORKERS_COUNT: (most: number) =>
    `"workers" in launcher-config.json takes a whole number from 1 to ${most}.`,
  WORKERS_WITHOUT_STORE: (count: number) =>
    `-workers ${count} needs a store that the workers share. Set "store.kind" in config.json to ` +
    '"redis", with "store.url" and a secret (docs/scaling.md).',
  WORKERS_WITHOUT_GATEWAY: (count: number) =>
    `-workers ${count} needs a port for the channel that the workers share. Set "gateway.port" ` +
    "in config.json, for example to 18801 (docs/scaling.md).",
  WORKERS_PORTS: (count: number, port: number) =>
    `-workers ${count} needs as many ports for dashboards from ${port} upwards. Choose a smaller ` +
    "one with -port.",
});
