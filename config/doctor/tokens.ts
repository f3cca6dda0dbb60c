import type { CheckView } from "../../plugins/dashboard/index.ts";
import { tokenWarning, tokenVariable } from "../../plugins/token-store/index.ts";
import { describeTokenSource, createCheck } from "./survey.ts";
import type { Survey } from "./survey.ts";

/** Issued here. Others are somebody else's: one made here would open nothing there. */
const tokensIssuedHere = new Set(["launcher", "pico", "metrics"]);

/** Where tokens stand, whether the places agree, and whether they can be guessed. */
export function tokenChecks(found: Survey): CheckView[] {
  return [launcher(found), inConfig(found), disagreement(found), weakTokens(found)];
}

function launcher({ places, running, files }: Survey): CheckView {
  const own = createCheck("launcher-token", "The dashboard's token");
  const source =
    running?.tokens.find(({ name }) => name === "launcher")?.source ??
    places.get("launcher")?.[0]?.source;
  if (source === "random") return own.ok(`It was generated and is kept in ${files.launcher}.`);
  if (source) return own.ok(`It comes from ${describeTokenSource("launcher", source)}.`);
  return own.ok(`There is none yet: the first start makes one and writes it to ${files.launcher}.`);
}

function inConfig({ places, files }: Survey): CheckView {
  const own = createCheck("token-in-config", "No token in config.json");
  const channels = [...places.keys()].filter((name) => name !== "launcher" && name !== "metrics");
  const inside = channels.filter((name) =>
    places.get(name)?.some(({ source }) => source === "config"),
  );
  if (inside.length === 0) return own.ok("It holds settings only.");
  return own.warning(
    `${files.config} holds the token of: ${inside.join(", ")}. That suits development only.`,
    `doorward token set ${inside[0]} (writes .security.yml), then take it out of config.json`,
  );
}

function disagreement({ places }: Survey): CheckView {
  const own = createCheck("token-places", "The places of a token agree");
  const odd = [...places.keys()].filter(
    (name) => new Set(places.get(name)!.map(({ value }) => value)).size > 1,
  );
  if (odd.length === 0) return own.ok("No token stands at two places with two values.");
  const of = (name: string): string =>
    `${name} (${places
      .get(name)!
      .map(({ source }) => describeTokenSource(name, source))
      .join(" wins over ")})`;
  return own.warning(
    `Different values for: ${odd.map(of).join(", ")}.`,
    "remove the value that does not count, so that nobody copies the wrong one",
  );
}

function weakTokens({ places, prefix }: Survey): CheckView {
  const own = createCheck("token-strength", "Tokens cannot be guessed");
  const doubts = [...places].flatMap(([name, [place]]) => {
    const doubt = place && tokenWarning(name, place.value);
    return doubt ? [{ name, source: place.source, doubt }] : [];
  });
  if (doubts.length === 0)
    return own.ok("Every token is long enough and can be sent by each method.");
  const fixes = doubts.map(({ name, source }) => {
    if (source === "env") return `change ${tokenVariable(name, prefix)} and start again`;
    if (tokensIssuedHere.has(name)) return `doorward token rotate ${name}`;
    return `ask for a better one where it belongs to: doorward token set ${name}`;
  });
  return own.warning(
    `${doubts.map(({ name, doubt }) => `${name}: ${doubt}`).join("; ")}.`,
    fixes.join("; "),
  );
}
