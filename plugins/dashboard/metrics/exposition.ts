/* Loaded with the first scrape: whoever is not scraped pays nothing. */
import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";
import { familiesFor, type MetricsSnapshot, type MetricFamily } from "./definitions.ts";

/** Of the process, not of one kernel in it: its watch over the event loop goes on when a kernel stops. */
const processRegistry = new Registry();
collectDefaultMetrics({ register: processRegistry });

export const contentType: string = processRegistry.contentType;

/** Values stay where they are counted: the library is given them at each scrape. */
function register(
  registry: Registry,
  { type, name, help, labels, read }: MetricFamily,
  facts: () => MetricsSnapshot,
): void {
  const common = { name, help, labelNames: [...labels], registers: [registry] };
  if (type === "gauge") {
    const gauge = new Gauge({
      ...common,
      collect: () => {
        gauge.reset();
        for (const [label, value] of read(facts())) gauge.set(label, value);
      },
    });
    return;
  }
  const counter = new Counter({
    ...common,
    collect: () => {
      counter.reset();
      for (const [label, value] of read(facts())) counter.inc(label, value);
    },
  });
}

/** The text of one scrape, in the exposition format of Prometheus 0.0.4. */
export function createExposition(read: () => MetricsSnapshot): () => Promise<string> {
  const registry = new Registry();
  let metricsSnapshot = read();
  for (const family of familiesFor(metricsSnapshot))
    register(registry, family, () => metricsSnapshot);
  return async () => {
    metricsSnapshot = read();
    return `${await registry.metrics()}${await processRegistry.metrics()}`;
  };
}
