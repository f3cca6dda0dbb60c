import type { CheckView, TryResult } from "../../plugins/dashboard/index.ts";
import type { Survey } from "./survey.ts";

/** What each answer of the channel means for whoever mends it. */
const fixes: Readonly<Record<string, string>> = {
  token_mismatch: "the channel holds another token than its files: look at `doorward token source`",
  token_not_configured: "doorward token rotate pico",
  not_found: 'turn the channel on: "enabled": true in channels.pico of config.json, or the dashboard\'s switch',
  rate_limited: "doorward unblock",
  origin_not_allowed: "look at allow_origins in channels.pico",
  too_many_connections: "raise max_connections in channels.pico",
  ECONNREFUSED: "look at the launcher's log: nothing listens where it should",
};

const isOn = ({ running, pico }: Survey): boolean => running?.channel?.enabled ?? pico["enabled"] === true;

/** The three things to look at when a token is refused, then real handshakes. */
export async function channelChecks(found: Survey): Promise<CheckView[]> {
  const on = isOn(found);
  const tries = found.running && on ? await found.running.handshakes() : undefined;
  return [configured(found, on), header(tries, on), query(found, tries), ...handshakes(tries, on)];
}

function configured({ places, running }: Survey, on: boolean): CheckView {
  const base = { id: "token-configured", title: "The pico token is configured" };
  const [place] = places.get("pico") ?? [];
  const source = running?.tokens.find(({ name }) => name === "pico")?.source ?? place?.source ?? "none";
  if (source !== "none") return { ...base, result: "ok", reason: `The channel's token comes from: ${source}.` };
  const fix = "doorward token rotate pico";
  if (on) return { ...base, result: "failed", reason: "The channel is on and has no token: nobody gets in.", fix };
  return { ...base, result: "warning", reason: "The channel is off and has no token; turning it on makes one.", fix };
}

function header(tries: readonly TryResult[] | undefined, on: boolean): CheckView {
  const base = { id: "header-form", title: "The header has the form `Authorization: Bearer <token>`" };
  const form = "One space after Bearer, no quotation marks, no line end.";
  const got = tries?.find(({ method }) => method === "header");
  if (!got) {
    const why = on ? "the launcher does not run" : "the channel is off";
    return { ...base, result: "warning", reason: `Not tried: ${why}. ${form}`, fix: on ? "doorward" : fixes["not_found"]! };
  }
  if (got.ok) return { ...base, result: "ok", reason: `A handshake with this header is accepted. ${form}` };
  return { ...base, result: "failed", reason: `A handshake with this header was refused: ${got.code}.`, fix: fixOf(got.code) };
}

function query({ pico }: Survey, tries: readonly TryResult[] | undefined): CheckView {
  const base = { id: "token-query", title: "`allow_token_query` fits how clients send the token" };
  const got = tries?.find(({ method }) => method === "query");
  const allowed = got ? got.code !== "token_query_disabled" : pico["allow_token_query"] === true;
  if (!allowed) {
    return {
      ...base, result: "ok",
      reason: "Tokens in the address (`?token=`) are refused. A client that can do nothing else needs allow_token_query.",
    };
  }
  return {
    ...base, result: "warning", reason: "Tokens in the address (`?token=`) are accepted: logs and histories keep them.",
    fix: 'set "allow_token_query": false in channels.pico unless a client needs it',
  };
}

const words: Readonly<Record<TryResult["method"], string>> = {
  header: "header", subprotocol: "subprotocol", query: "query", requests: "plain HTTP request",
};

function handshakes(tries: readonly TryResult[] | undefined, on: boolean): CheckView[] {
  if (!tries) {
    const reason = on ? "Not tried: the launcher does not run." : "Not tried: the channel is off.";
    return [{ id: "handshake", title: "Handshakes with the token", result: "warning", reason, fix: on ? "doorward" : fixes["not_found"]! }];
  }
  return tries.map(({ method, ok, code, ms }) => {
    const base = { id: `handshake-${method}`, title: `A real handshake: ${words[method]}` };
    if (ok) return { ...base, result: "ok", reason: `Accepted (${code}) in ${ms} ms.` };
    if (code === "token_query_disabled") return { ...base, result: "ok", reason: "Refused, as configured (allow_token_query is off)." };
    return { ...base, result: "failed", reason: `Refused: ${code}.`, fix: fixOf(code) };
  });
}

const fixOf = (code: string): string => fixes[code] ?? `look up "${code}" in docs/errors.md`;
