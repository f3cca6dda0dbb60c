/** Finds the state of the protocols of other products, for example the OpenAI API. @module */
import type { Http } from "../../http/index.ts";
import type { SettingsSection } from "../../settings/index.ts";
import { protocolNames } from "../ui/text/protocols.ts";

/** One protocol, for commands and doctor checks. */
export interface ProtocolStatus {
  /** Also the name of its token. */
  readonly name: string;
  /** Name for people. */
  readonly title: string;
  /** Whether the setting `enabled` of its section is on. */
  readonly enabled: boolean;
  /** Base URL for clients on this machine; absent before the port is open. */
  readonly url?: string;
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
    const enabled = (found.value as { enabled?: unknown }).enabled === true;
    return { name, title, enabled, ...(base && { url: new URL(http.url(path), base).href }) };
  });
}
