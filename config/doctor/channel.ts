// Doctor checks for the pico channel and its recently rejected clients.
import type { CheckView, TestResult } from "../../plugins/dashboard/index.ts";
import { createCheck, describeTokenSource, type Survey } from "./survey.ts";

const turnOnFix =
  'turn the channel on: "enabled": true in channels.pico of config.json, ' +
  "or the switch in the dashboard";

/** Error code of a test handshake -> fix. */
const fixByCode: Readonly<Record<string, string>> = {
  token_mismatch: "the channel uses another token than its files: check `doorward token source`",
  token_not_configured: "doorward token rotate pico",
  not_found: turnOnFix,
  rate_limited: "doorward unblock",
  origin_not_allowed: "check allow_origins in channels.pico",
  too_many_connections: "raise max_connections in channels.pico",
  ECONNREFUSED: "check the log of the launcher: nothing listens at its address",
};

const isOn = ({ running, pico }: Survey): boolean =>
  running?.channel?.enabled ?? pico["enabled"] === true;

/** The three checks that explain a rejected token, then test handshakes. */
export async function channelChecks(found: Survey): Promise<CheckView[]> {
  const on = isOn(found);
  const tries = found.running && on ? await found.running.handshakes() : undefined;
  return [configured(found, on), header(tries, on), query(found, tries), ...handshakes(tries, on)];
}

/** Keys need the channel, although they need no channel token. Needs a running launcher. */
export function keysCheck(found: Survey): CheckView | undefined {
  const { keys = 0, channel } = found.running ?? {};
  if (keys === 0 || !channel) return undefined;
  const own = createCheck("keys", "Clients with keys can connect");
  const are = keys === 1 ? "1 key is" : `${keys} keys are`;
  if (isOn(found)) return own.ok(`The channel is on, and ${are} for it.`);
  return own.warning(`The channel is off, so /keys answers 404, and ${are} for it.`, turnOnFix);
}

function configured({ places, running }: Survey, on: boolean): CheckView {
  const own = createCheck("token-configured", "The pico token is configured");
  const [place] = places.get("pico") ?? [];
  const source =
    running?.tokens.find(({ name }) => name === "pico")?.source ?? place?.source ?? "none";
  if (source !== "none")
    return own.ok(`The channel's token comes from ${describeTokenSource("pico", source)}.`);
  const fix = "doorward token rotate pico";
  if (on) return own.failed("The channel is on and has no token, so no client can connect.", fix);
  return own.warning(
    "The channel is off and has no token. Turning it on generates one.",
    turnOnFix,
  );
}

function header(tries: readonly TestResult[] | undefined, on: boolean): CheckView {
  const own = createCheck("header-form", "The header has the form `Authorization: Bearer <token>`");
  const form = "Write one space after Bearer, no quotation marks and no line break.";
  const got = tries?.find(({ method }) => method === "header");
  if (!got) {
    const why = on ? "the launcher is not running" : "the channel is off";
    return own.warning(`Not tested: ${why}. ${form}`, on ? "doorward" : turnOnFix);
  }
  if (got.ok) return own.ok(`A handshake with this header is accepted. ${form}`);
  return own.failed(`A handshake with this header was rejected: ${got.code}.`, fixOf(got.code));
}

function query({ pico }: Survey, tries: readonly TestResult[] | undefined): CheckView {
  const own = createCheck("token-query", "`allow_token_query` is off unless a client needs it");
  const got = tries?.find(({ method }) => method === "query");
  const allowed = got ? got.code !== "token_query_disabled" : pico["allow_token_query"] === true;
  if (!allowed) {
    return own.ok(
      "Tokens in the URL (`?token=`) are rejected. Turn on allow_token_query only for clients " +
        "that cannot send a header.",
    );
  }
  return own.warning(
    "Tokens in the URL (`?token=`) are accepted. URLs appear in logs and browser history.",
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
    if (on) return [own.warning("Not tested: the launcher is not running.", "doorward")];
    const off = own.warning("Not tested: the channel is off.", turnOnFix);
    return [{ ...off, action: "turn-on-channel" }];
  }
  return tries.map(({ method, ok, code, ms }) => {
    const own = createCheck(`handshake-${method}`, `Test handshake: ${methodLabels[method]}`);
    if (ok) return own.ok(`Accepted (${code}) in ${ms} ms.`);
    if (code === "token_query_disabled")
      return own.ok("Rejected, as configured (allow_token_query is off).");
    return own.failed(`Rejected: ${code}.`, fixOf(code));
  });
}

const fixOf = (code: string): string => fixByCode[code] ?? `look up "${code}" in docs/errors.md`;

/** Older rejections are omitted: their cause is probably fixed. */
const recentMs = 10 * 60_000;
const maxListed = 3;

const ageText = (ms: number): string =>
  ms < 60_000 ? `${Math.max(0, Math.round(ms / 1_000))} s` : `${Math.round(ms / 60_000)} min`;

/** Clients that were rejected recently, with the reason. Needs a running launcher. */
export function rejectedClientsCheck({ running, now }: Survey): CheckView | undefined {
  if (!running) return undefined;
  const own = createCheck("refused-clients", "Rejected clients");
  const recent = running.refusals.filter(
    ({ at, blockedUntil = 0 }) => now - at < recentMs || blockedUntil > now,
  );
  if (recent.length === 0) return own.ok("None in the last 10 minutes.");
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
  return own.warning(
    named.join(" ") + more,
    fixes.size > 0 ? [...fixes].join(" ") : "wait: the block expires by itself",
  );
}
