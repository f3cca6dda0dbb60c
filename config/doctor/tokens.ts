// Doctor checks for token sources and token strength.
import type { CheckView } from "../../plugins/dashboard/index.ts";
import { tokenWarning, tokenVariable } from "../../plugins/token-store/index.ts";
import { createCheck, describeTokenSource, type Survey } from "./survey.ts";

/** Tokens that this launcher issues. Another server issues the others, so a rotation here would
 *  have no effect. */
const tokensIssuedHere = new Set(["launcher", "pico", "openai", "ai_sdk", "ag_ui", "metrics"]);

/** Checks where tokens come from, whether the sources agree, and how strong tokens are. */
export function tokenChecks(found: Survey): CheckView[] {
  return [launcher(found), inConfig(found), disagreement(found), weakTokens(found)];
}

function launcher({ places, running, files }: Survey): CheckView {
  const own = createCheck("launcher-token", "The launcher token");
  const source =
    running?.tokens.find(({ name }) => name === "launcher")?.source ??
    places.get("launcher")?.[0]?.source;
  if (source === "random") return own.ok(`It was generated and is stored in ${files.launcher}.`);
  if (source) return own.ok(`It comes from ${describeTokenSource("launcher", source)}.`);
  return own.ok(
    `There is no token yet. The first start generates one and writes it to ${files.launcher}.`,
  );
}

function inConfig({ places, files }: Survey): CheckView {
  const own = createCheck("token-in-config", "No token in config.json");
  const channels = [...places.keys()].filter((name) => name !== "launcher" && name !== "metrics");
  const inside = channels.filter((name) =>
    places.get(name)?.some(({ source }) => source === "config"),
  );
  if (inside.length === 0) return own.ok("config.json contains settings only.");
  return own.warning(
    `${files.config} contains the token of: ${inside.join(", ")}. Use this in development only.`,
    `doorward token set ${inside[0]} (writes .security.yml), then remove it from config.json`,
  );
}

function disagreement({ places }: Survey): CheckView {
  const own = createCheck("token-places", "All sources of a token agree");
  const odd = [...places.keys()].filter(
    (name) => new Set(places.get(name)!.map(({ value }) => value)).size > 1,
  );
  if (odd.length === 0) return own.ok("No token has different values in two sources.");
  const of = (name: string): string =>
    `${name} (${places
      .get(name)!
      .map(({ source }) => describeTokenSource(name, source))
      .join(" overrides ")})`;
  return own.warning(
    `Different values for: ${odd.map(of).join(", ")}.`,
    "remove the overridden value, so that you cannot copy the wrong one",
  );
}

function weakTokens({ places }: Survey): CheckView {
  const own = createCheck("token-strength", "Tokens are hard to guess");
  const doubts = [...places].flatMap(([name, [place]]) => {
    const doubt = place && tokenWarning(name, place.value);
    return doubt ? [{ name, source: place.source, doubt }] : [];
  });
  if (doubts.length === 0)
    return own.ok("Every token is long enough and can be sent by each method.");
  const fixes = doubts.map(({ name, source }) => {
    if (source === "env") return `change ${tokenVariable(name)} and restart`;
    if (tokensIssuedHere.has(name)) return `doorward token rotate ${name}`;
    return `request a stronger token from its server, then: doorward token set ${name}`;
  });
  return own.warning(
    `${doubts.map(({ name, doubt }) => `${name}: ${doubt}`).join("; ")}.`,
    fixes.join("; "),
  );
}
