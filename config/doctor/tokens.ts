import type { CheckView } from "../../plugins/dashboard/index.ts";
import { concern } from "../../plugins/token-store/index.ts";
import { names, type Survey } from "./survey.ts";

/** Where tokens stand, whether the places agree, and whether they can be guessed. */
export function tokenChecks(found: Survey): CheckView[] {
  return [launcher(found), inConfig(found), disagreement(found), weak(found)];
}

function launcher({ places, running, files }: Survey): CheckView {
  const base = { id: "launcher-token", title: "The dashboard's token" };
  const source = running?.tokens.find(({ name }) => name === "launcher")?.source ?? places.get("launcher")?.[0]?.source;
  if (source) return { ...base, result: "ok", reason: `It comes from: ${source}.` };
  return { ...base, result: "ok", reason: `There is none yet: the first start makes one and writes it to ${files.launcher}.` };
}

function inConfig({ places, files }: Survey): CheckView {
  const base = { id: "token-in-config", title: "No token in config.json" };
  const inside = names.filter((name) => name !== "launcher" && places.get(name)?.some(({ source }) => source === "config"));
  if (inside.length === 0) return { ...base, result: "ok", reason: "It holds settings only." };
  return {
    ...base, result: "warning", reason: `${files.config} holds the token of: ${inside.join(", ")}. That suits development only.`,
    fix: `doorward token set ${inside[0]} (writes .security.yml), then take it out of config.json`,
  };
}

function disagreement({ places }: Survey): CheckView {
  const base = { id: "token-places", title: "The places of a token agree" };
  const odd = names.filter((name) => new Set(places.get(name)?.map(({ value }) => value)).size > 1);
  if (odd.length === 0) return { ...base, result: "ok", reason: "No token stands at two places with two values." };
  const of = (name: string): string => `${name} (${places.get(name)!.map(({ source }) => source).join(" wins over ")})`;
  return {
    ...base, result: "warning", reason: `Different values for: ${odd.map(of).join(", ")}.`,
    fix: "remove the value that does not count, so that nobody copies the wrong one",
  };
}

function weak({ places }: Survey): CheckView {
  const base = { id: "token-strength", title: "Tokens cannot be guessed" };
  const doubts = names.flatMap((name) => {
    const [place] = places.get(name) ?? [];
    const doubt = place && concern(name, place.value);
    return doubt ? [`${name}: ${doubt}`] : [];
  });
  const [first] = doubts;
  if (first === undefined) return { ...base, result: "ok", reason: "Every token is long enough and can be sent by each method." };
  return { ...base, result: "warning", reason: `${doubts.join("; ")}.`, fix: `doorward token rotate ${first.split(":")[0]}` };
}
