/** Describes the OpenAI protocol for the Connect page. @module */
import type { SettingsSection } from "../../settings/index.ts";
import type { DashboardContext } from "../context.ts";
import type { OpenaiView } from "../pages/openai-card.ts";

const sectionName = "channels.openai";

/**
 * @param channelUrl - URL of the pico channel, which has the same host and port.
 * @returns undefined if the plugin is not loaded.
 */
export function openaiOf(
  { site }: Pick<DashboardContext, "site">,
  sections: readonly SettingsSection[],
  channelUrl: string,
): OpenaiView | undefined {
  const section = sections.find(({ section: name }) => name === sectionName);
  if (!section) return undefined;
  const { enabled, model } = section.value as { enabled?: unknown; model?: unknown };
  const isSetByEnv = section.managedByEnv.includes("enabled");
  return {
    enabled: enabled === true,
    url: channelUrl.replace(/^ws/, "http").replace(/\/pico$/, "/v1"),
    model: typeof model === "string" ? model : "doorward",
    ...(isSetByEnv && { enabledManagedBy: `${site.brand.toUpperCase()}_CHANNELS_OPENAI_ENABLED` }),
    ...(!isSetByEnv && section.etag !== "" && { etag: section.etag }),
  };
}
