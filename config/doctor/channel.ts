import type { CheckView, TestResult } from "../../plugins/dashboard/index.ts";
import { createCheck, describeTokenSource, type Survey } from "./survey.ts";

const turnOnFix =
  'turn the channel on: "enabled": true in channels.pico of config.json, or the dashboard\'s switch';

/** What each answer of the channel means for whoever mends it. */
const fixByCode: Readonly<Record<string, string>> = {
  token_mismatch: "the channel holds another token than its files: look at `doorward token source`",
  token_not_configured: "doorward token rotate pico",
  not_found: turnOnFix,
  rate_limited: "doorward unblock",
  origin_not_allowed: "look at allow_origins in channels.pico",
  too_many_connections: "raise max_connections in channels.pico",
  ECONNREFUSED: "look at the launcher's log: nothing listens where it should",
};

const isOn = ({ running, pico }: Survey): boolean =>
  running?.channel?.enabled ?? pico["enabled"] === true;

/** The three things to look at when a token is refused, then real handshakes. */
export async function channelChecks(found: Survey): Promise<CheckView[]> {
  const on = isOn(found);
  const tries = found.running && on ? await found.running.handshakes() : undefined;
  return [configured(found, on), header(tries, on), query(found, tries), ...handshakes(tries, on)];
}

function configured({ places, running }: Survey, on: boolean): CheckView {
  const own = createCheck("token-configured", "The pico token is configured");
  const [place] = places.get("pico") ?? [];
  const source =
    running?.tokens.find(({ name }) => name === "pico")?.source ?? place?.source ?? "none";
  if (source !== "none")
    return own.ok(`The channel's token comes from ${describeTokenSource("pico", source)}.`);
  const fix = "doorward token rotate pico";
  if (on) return own.failed("The channel is on and has no token: nobody gets in.", fix);
  return own.warning("The channel is off and has no token; turning it on makes one.", fix);
}

function header(tries: readonly TestResult[] | undefined, on: boolean): CheckView {
  const own = createCheck("header-form", "The header has the form `Authorization: Bearer <token>`");
  const form = "One space after Bearer, no quotation marks, no line end.";
  const got = tries?.find(({ method }) => method === "header");
  if (!got) {
    const why = on ? "the launcher does not run" : "the channel is off";
    return own.warning(`Not tried: ${why}. ${form}`, on ? "doorward" : turnOnFix);
  }
  if (got.ok) return own.ok(`A handshake with this header is accepted. ${form}`);
  return own.failed(`A handshake with this header was refused: ${got.code}.`, fixOf(got.code));
}

function query({ pico }: Survey, tries: readonly TestResult[] | undefined): CheckView {
  const own = createCheck("token-query", "`allow_token_query` fits how clients send the token");
  const got = tries?.find(({ method }) => method === "query");
  const allowed = got ? got.code !== "token_query_disabled" : pico["allow_token_query"] === true;
  if (!allowed) {
    return own.ok(
      "Tokens in the address (`?token=`) are refused. A client that can do nothing else needs allow_token_query.",
    );
  }
  return own.warning(
    "Tokens in the address (`?token=`) are accepted: logs and histories keep them.",
    'set "allow_token_query": false in channels.pico unless a client needs it',
  );
}

const methodLabels: Readonly<Record<TestResult["method"], string>> = {
  header: "header",
  subprotocol: "subprotocol",
  query: "query",
  requests: "plain HTTP request",
};

function handshakes(tries: readonly TestResult[] | undefined, on: boolean): CheckView[] {
  if (!tries) {
    const own = createCheck("handshake", "Handshakes with the token");
    if (on) return [own.warning("Not tried: the launcher does not run.", "doorward")];
    return [own.warning("Not tried: the channel is off.", turnOnFix)];
  }
  return tries.map(({ method, ok, code, ms }) => {
    const own = createCheck(`handshake-${method}`, `A real handshake: ${methodLabels[method]}`);
    if (ok) return own.ok(`Accepted (${code}) in ${ms} ms.`);
    if (code === "token_query_disabled")
      return own.ok("Refused, as configured (allow_token_query is off).");
    return own.failed(`Refused: ${code}.`, fixOf(code));
  });
}

const fixOf = (code: string): string => fixByCode[code] ?? `look up "${code}" in docs/errors.md`;

/** What was refused longer ago is most likely mended. */
const recentMs = 10 * 60_000;
const maxListed = 3;

const ageText = (ms: number): string =>
  ms < 60_000 ? `${Math.max(0, Math.round(ms / 1_000))} s` : `${Math.round(ms / 60_000)} min`;

/** Clients that could not get in lately, and why. Only the running launcher knows. */
export function rejectedConnectionChecks({ running, now }: Survey): CheckView[] {
  if (!running) return [];
  const own = createCheck("refused-clients", "Refused clients");
  const recent = running.refusals.filter(
    ({ at, blockedUntil = 0 }) => now - at < recentMs || blockedUntil > now,
  );
  if (recent.length === 0) return [own.ok("None in the last 10 minutes.")];
  const latest = recent.slice(0, maxListed);
  const named = latest.map(({ title, detail, at, blockedUntil = 0 }) => {
    const blocked =
      blockedUntil > now
        ? `, blocked for another ${Math.ceil((blockedUntil - now) / 1_000)} s`
        : "";
    return `${title} (${detail}), ${ageText(now - at)} ago${blocked}.`;
  });
  const more = recent.length > maxListed ? ` And ${recent.length - maxListed} more.` : "";
  const fixes = new Set(latest.flatMap(({ fix }) => fix ?? []));
  return [
    own.warning(
      named.join(" ") + more,
      fixes.size > 0 ? [...fixes].join(" ") : "nothing to do: it goes by",
    ),
  ];
}
