// Labels of tokens and of their sources.
import type { TokenView } from "./views.ts";
import { lookUp } from "./look-up.ts";

const names: Readonly<Record<string, string>> = {
  launcher: "Launcher token",
  pico: "Channel token",
  pico_client: "Remote token",
  openai: "OpenAI token",
  ai_sdk: "AI SDK token",
  ag_ui: "AG-UI token",
  metrics: "Metrics token",
};

export function tokenLabel(name: string): string {
  return lookUp(names, name) ?? `Token ${name}`;
}

export function tokenSourceLabel({ name, source, managedByEnv }: TokenView): string {
  if (managedByEnv) return "environment variable";
  const file = name === "launcher" || name === "metrics" ? "launcher-config.json" : "config.json";
  const labels = {
    env: "environment variable",
    security: ".security.yml",
    config: file,
    random: `${file} (generated)`,
    host: "host application",
    none: "not set",
  };
  return labels[source];
}
