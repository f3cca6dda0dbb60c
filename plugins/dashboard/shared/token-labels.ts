// Labels of tokens.
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
