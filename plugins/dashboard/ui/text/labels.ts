/** What the pages call things. Pure: the server writes the first state with them, the script each later one. */
import type { LinkState } from "../../../../lib/pico-link/browser.ts";
import type { ProgramView, StatusView, TokenView } from "../../api/views.ts";
import { formatCount } from "./format.ts";

type BadgeTone = "ok" | "warn" | "bad";

const launcherStates: Readonly<Record<StatusView["state"], { text: string; tone: BadgeTone }>> = {
  unconfigured: { text: "Not configured", tone: "bad" },
  setup: { text: "Waiting for setup", tone: "warn" },
  running: { text: "Running", tone: "ok" },
  rotating: { text: "Replacing the token", tone: "warn" },
};

const signInMethodLabels: Readonly<Record<string, string>> = {
  form: "Sign-in form",
  login: "Sign-in form",
  link: "Sign-in link",
  query: "Token in the address",
  setup: "Setup",
  bearer: "Authorization header",
  current: "Confirmation of an action",
};

const failedSignInLabels: Readonly<Record<string, string>> = {
  invalid_token: "Wrong token",
  invalid_code: "Wrong setup code",
  rate_limited: "Too many tries",
  link_expired: "Sign-in link used or too old",
  origin_not_allowed: "Sent from another site",
  host_not_allowed: "Unknown host name",
};

/** The word for a name from outside: only what the table itself holds, so that `__proto__` finds nothing. */
export const lookUp = (table: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

export function stateLabel(state: StatusView["state"]): { text: string; tone: BadgeTone } {
  return launcherStates[state];
}

/** Through which door somebody came or tried to. */
export function signInMethodLabel(via: string): string {
  return lookUp(signInMethodLabels, via) ?? via;
}

export function failedSignInLabel(code: string): string {
  return lookUp(failedSignInLabels, code) ?? code.replaceAll("_", " ");
}

/** Goes after what happened. */
export const timesLabel = (times: number): string => (times > 1 ? ` · ${times} times` : "");

/** How long an address still waits. */
export const blockedLabel = (until: number, now: number): string =>
  until > now ? `Blocked for ${Math.ceil((until - now) / 1000)} s.` : "It may try again.";

const names: Readonly<Record<string, string>> = {
  launcher: "Launcher token",
  pico: "Channel token",
  pico_client: "Remote token",
  metrics: "Metrics token",
};

export function tokenLabel(name: string): string {
  return lookUp(names, name) ?? `Token ${name}`;
}

export function tokenSourceLabel({ name, source, managedByEnv }: TokenView): string {
  if (managedByEnv) return "the environment";
  const file = name === "launcher" || name === "metrics" ? "launcher-config.json" : "config.json";
  const words = {
    env: "the environment",
    security: ".security.yml",
    config: file,
    random: `generated, in ${file}`,
    host: "the host application",
    none: "not set",
  };
  return words[source];
}

const signOutReasons: Readonly<Record<string, string>> = {
  "sign-out": "You signed out in another tab.",
  revoked: "This session was signed out from another browser.",
  expired: "Your session has run its time.",
  evicted: "Too many browsers signed in since, so this session had to leave.",
  rotated: "The launcher token was replaced, which ends every session.",
  replaced: "You signed in again in another tab.",
  "maker-ended":
    "The browser that made your sign-in link was signed out, which ends this sign-in too.",
};

/** Why a session ended. */
export function signOutReasonLabel(reason: string): string {
  return lookUp(signOutReasons, reason) ?? "Your session has ended.";
}

const methods: Readonly<Record<string, string>> = {
  header: "header",
  subprotocol: "subprotocol",
  query: "token in the address",
  dashboard: "this dashboard",
};

/** How a client of the channel showed who it is. */
export function methodLabel(method: string): string {
  return methods[method] ?? method;
}

const browsers: readonly (readonly [RegExp, string])[] = [
  [/Edg\/(\d+)/, "Edge"],
  [/OPR\/(\d+)/, "Opera"],
  [/Firefox\/(\d+)/, "Firefox"],
  [/(?:Headless)?Chrom\w*\/(\d+)/, "Chrome"],
  [/Version\/(\d+).*Safari/, "Safari"],
  [/curl\/([\d.]+)/, "curl"],
];
const systems: readonly (readonly [RegExp, string])[] = [
  [/Android/, "Android"],
  [/iPhone|iPad/, "iOS"],
  [/Windows/, "Windows"],
  [/Mac OS X/, "macOS"],
  [/CrOS/, "ChromeOS"],
  [/Linux/, "Linux"],
];

/** `Firefox 140 on Linux`, or what the program calls itself. */
export function browserLabel(userAgent: string): string {
  const system = systems.find(([pattern]) => pattern.test(userAgent))?.[1];
  for (const [pattern, name] of browsers) {
    const version = pattern.exec(userAgent)?.[1];
    if (version !== undefined)
      return `${name} ${version}${system === undefined ? "" : ` on ${system}`}`;
  }
  return userAgent.slice(0, 60);
}

/* What the program's card says. Pure: the server writes the first state with it, the script each later one. */

type Tone = "ok" | "warn" | "bad";

const programStates: Readonly<Record<ProgramView["state"], { text: string; tone: Tone }>> = {
  running: { text: "Running", tone: "ok" },
  waiting: { text: "Starts again soon", tone: "warn" },
  ended: { text: "Ended", tone: "bad" },
  stopped: { text: "Stopped", tone: "warn" },
};

export const programState = (state: ProgramView["state"]): { text: string; tone: Tone } =>
  programStates[state];

/** Names and values of the facts. */
export function programFacts(program: ProgramView): [name: string, value: string][] {
  const { pid, restarts, lastEnd, inWork, queued, answered, failed } = program;
  return [
    ...(pid === undefined ? [] : [["Process", String(pid)] as [string, string]]),
    [
      "Restarts",
      lastEnd === undefined
        ? formatCount(restarts)
        : `${formatCount(restarts)}, last end: ${lastEnd}`,
    ],
    ["Messages", `${formatCount(answered)} answered, ${formatCount(failed)} failed`],
    ["Now", `${formatCount(inWork)} in work, ${formatCount(queued)} waiting`],
  ];
}

/** Badge and tone of each state of a link. */
export const linkStateBadges: Readonly<Record<LinkState, readonly [string, string]>> = {
  idle: ["Connecting", "off"],
  connecting: ["Connecting", "off"],
  open: ["Connected", "ok"],
  waiting: ["Reconnecting…", "warn"],
  blocked: ["Disconnected", "bad"],
  stopped: ["Disconnected", "bad"],
};

const linkCloseMessages: Readonly<Record<string, string>> = {
  normal: "The connection was ended.",
  session_ended:
    "The session of this browser has ended, and the connection with it. Connect again once you are signed in.",
  bad_request: "The channel closed the connection because of malformed messages.",
  unauthorized: "The channel has no token any more.",
  forbidden: "The owner of this service disconnected this connection.",
  replaced: "This conversation was continued by another connection.",
};

/** Why a connection is over for good. */
export const linkClosedMessage = (reason: string): string =>
  lookUp(linkCloseMessages, reason) ?? `The connection was closed (${reason}).`;

const refusals: Readonly<Record<string, string>> = {
  no_channel: "This service was started without a pico channel.",
  not_found: "The channel is off. Turn it on on the overview.",
  too_many_connections: "All connections of the channel are taken.",
};

/** Why the channel takes no connection now; undefined where a moment's patience is all that is needed. */
export const linkRejectedMessage = (reason: string): string | undefined => lookUp(refusals, reason);

const reasons: Readonly<Record<string, string>> = {
  token_query_disabled:
    "allow_token_query is off, as it should be unless a client knows no other way.",
  not_found: "The channel is off.",
  token_not_configured: "There is no channel token yet.",
  token_mismatch: "The channel did not take the token.",
  token_missing: "The token got lost on the way: a proxy may remove headers.",
  rate_limited: "Too many wrong tokens came from this machine. Try again in a minute.",
  too_many_connections: "All connections are taken.",
  origin_not_allowed: "allow_origins does not list this page’s origin.",
  timeout: "Nothing answered in time.",
  network: "The address did not answer.",
};

/** Why a way into the channel does not work, in one sentence. */
export function testResultLabel(code: string): string {
  return lookUp(reasons, code) ?? `The answer was ${code.replaceAll("_", " ")}.`;
}
