/**
 * Renders metrics as text. Loaded with the first scrape, so deployments without scrapes never pay
 * for it.
 *
 * @module
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { familiesFor, type MetricsSnapshot, type MetricFamily } from "./definitions.ts";

/** Metrics of the process. It outlives kernels: its event loop monitor never stops. */
const processRegistry = new Registry();
collectDefaultMetrics({ register: processRegistry });

export const contentType: string = processRegistry.contentType;

/** Adds a metric. Its values are copied into the library at each scrape. */
function register(
  registry: Registry,
  { type, name, help, labels, read }: MetricFamily,
  snapshot: () => MetricsSnapshot,
): void {
  const common = { name, help, labelNames: [...labels], registers: [registry] };
  if (type === "gauge") {
    const gauge = new Gauge({
      ...common,
      collect: () => {
        gauge.reset();
        for (const [label, value] of read(snapshot())) gauge.set(label, value);
      },
    });
    return;
  }
  if (type === "histogram") {
    // The library can only observe single values, so the totals replace its own.
    const values = () =>
      read(snapshot()).map(([{ part = "bucket", ...label }, value]) => ({
        labels: label,
        value,
        metricName: `${name}_${part}`,
      }));
    const get = async () => ({
      name,
      help,
      type: "histogram",
      aggregator: "sum",
      values: values(),
    });
    Object.assign(new Histogram(common), { get, getForPromString: get });
    return;
  }
  const counter = new Counter({
    ...common,
    collect: () => {
      counter.reset();
      for (const [label, value] of read(snapshot())) counter.inc(label, value);
    },
  });
}

/** @returns A function that renders one scrape in the Prometheus text format 0.0.4. */
export function createExposition(read: () => MetricsSnapshot): () => Promise<string> {
  const registry = new Registry();
  let snapshot = read();
  for (const family of familiesFor(snapshot)) register(registry, family, () => snapshot);
  return async () => {
    snapshot = read();
    return `${await registry.metrics()}${await processRegistry.metrics()}`;
  };
}
