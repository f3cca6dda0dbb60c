/** Finds the state of the protocols of other products, for example the OpenAI API. @module */
import type { Http } from "../../../http/index.ts";
import type { SettingsSection } from "../../../settings/index.ts";
import type { SiteContext } from "../context.ts";
import { enabledAccess } from "./settings.ts";
import { protocolNames, type ProtocolStatus, type ProtocolView } from "../../shared/protocols.ts";

interface ProtocolSettings {
  readonly enabled?: unknown;
  readonly model?: unknown;
}

/** @returns The protocols whose plugins are loaded. */
export function protocolStatus(
  http: Pick<Http, "addresses" | "url">,
  sections: readonly SettingsSection[],
): readonly ProtocolStatus[] {
  const [base] = http.addresses("gateway");
  return protocolNames.flatMap(({ section, name, title, path }) => {
    const found = sections.find((each) => each.section === section);
    if (!found) return [];
    const enabled = (found.value as ProtocolSettings).enabled === true;
    return { name, title, enabled, ...(base && { url: new URL(http.url(path), base).href }) };
  });
}

/**
 * Describes the protocols for the page Clients.
 *
 * @param channelUrl - URL of the pico channel, which has the same host and port.
 * @returns Those whose plugins are loaded.
 */
export function protocolViews(
  site: Pick<SiteContext, "brand">,
  sections: readonly SettingsSection[],
  channelUrl: string,
): readonly ProtocolView[] {
  return protocolNames.flatMap(({ section: wanted, path, ...protocol }) => {
    const section = sections.find((each) => each.section === wanted);
    if (!section) return [];
    const { enabled, model } = section.value as ProtocolSettings;
    const view: ProtocolView = {
      ...protocol,
      enabled: enabled === true,
      url: channelUrl.replace(/^ws/, "http").replace(/\/pico$/, path),
      ...(typeof model === "string" && { model }),
      ...enabledAccess(site, section),
    };
    return view;
  });
}
