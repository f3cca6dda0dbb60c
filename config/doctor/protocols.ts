// Doctor checks for the protocols of other products that are on, for example the OpenAI API.
import type { CheckView } from "../../plugins/dashboard/index.ts";
import { createCheck, describeTokenSource, type Survey } from "./survey.ts";

/** One check for each protocol that is on. Needs a running launcher. */
export function protocolChecks({ running }: Survey): CheckView[] {
  const enabled = running?.protocols.filter((protocol) => protocol.enabled) ?? [];
  return enabled.map(({ name, title, url }) => {
    const own = createCheck(`protocol-${name}`, title);
    const source = running?.tokens.find((token) => token.name === name)?.source ?? "none";
    const fix = `doorward token rotate ${name}`;
    if (source === "none") return own.failed("It is on and has no token.", fix);
    const where = url === undefined ? "" : ` Clients use the base URL ${url}.`;
    return own.ok(`It is on.${where} Its token comes from ${describeTokenSource(name, source)}.`);
  });
}
