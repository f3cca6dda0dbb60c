// Maps states, codes and names to the labels of the pages. The server renders the first state with
// them, the browser scripts render each later state.
import type { LinkState } from "../../../../lib/pico-link/browser.ts";
import type { ProgramView, StatusView, TokenView } from "../../api/views.ts";
import { formatBytes, formatCount } from "./format.ts";

type BadgeTone = "ok" | "warn" | "bad";

const signInMethodLabels: Readonly<Record<string, string>> = {
  form: "Sign-in form",
  login: "Sign-in form",
  link: "Sign-in link",
  query: "Token in URL",
  setup: "Setup",
  bearer: "Authorization header",
  current: "Action confirmation",
};

const failedSignInLabels: Readonly<Record<string, string>> = {
  invalid_token: "Wrong token",
  invalid_code: "Wrong setup code",
  rate_limited: "Too many attempts",
  link_expired: "Sign-in link used or expired",
  origin_not_allowed: "Request from another site",
  host_not_allowed: "Unknown host name",
};

/** Looks up an untrusted name. Reads own properties only, so `__proto__` finds nothing. */
export const lookUp = (table: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

/** Returns the label of a sign-in method, or the method name if it has no label. */
export function signInMethodLabel(via: string): string {
  return lookUp(signInMethodLabels, via) ?? via;
}

export function failedSignInLabel(code: string): string {
  return lookUp(failedSignInLabels, code) ?? code.replaceAll("_", " ");
}

/** Returns a suffix for repeated events: ` · 3 times`, empty for one. */
export const timesLabel = (times: number): string => (times > 1 ? ` · ${times} times` : "");

/** Describes the remaining block of an address. Both times are Unix milliseconds. */
export const blockedLabel = (until: number, now: number): string =>
  until > now ? `Blocked for ${Math.ceil((until - now) / 1000)} s.` : "No longer blocked.";

const names: Readonly<Record<string, string>> = {
  launcher: "Launcher token",
  pico: "Channel token",
  pico_client: "Remote token",
  openai: "OpenAI token",
  ai_sdk: "AI SDK token",
  ag_ui: "AG-UI token",
  metrics: "Metrics token",
};

export function tokenLabel(name: string): string {
  return lookUp(names, name) ?? `Token ${name}`;
}

export function tokenSourceLabel({ name, source, managedByEnv }: TokenView): string {
  if (managedByEnv) return "environment variable";
  const file = name === "launcher" || name === "metrics" ? "launcher-config.json" : "config.json";
  const labels = {
    env: "environment variable",
    security: ".security.yml",
    config: file,
    random: `${file} (generated)`,
    host: "host application",
    none: "not set",
  };
  return labels[source];
}

const signOutReasons: Readonly<Record<string, string>> = {
  "sign-out": "You signed out in another tab.",
  revoked: "You were signed out from another browser.",
  expired: "Your session has expired.",
  evicted: "Too many browsers signed in, so the oldest sign-in ended.",
  rotated: "The launcher token was rotated, which signs out all browsers.",
  replaced: "You signed in again in another tab.",
  "maker-ended":
    "The browser that created your sign-in link signed out, which ends this sign-in too.",
};

/** Explains why the sign-in ended. */
export function signOutReasonLabel(reason: string): string {
  return lookUp(signOutReasons, reason) ?? "Your session has ended.";
}

const methods: Readonly<Record<string, string>> = {
  header: "header",
  subprotocol: "subprotocol",
  query: "token in URL",
  dashboard: "this dashboard",
};

/** Returns the label of the authentication method of a channel client. */
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

/** Returns `Firefox 140 on Linux`, or the start of an unknown user agent. */
export function browserLabel(userAgent: string): string {
  const system = systems.find(([pattern]) => pattern.test(userAgent))?.[1];
  for (const [pattern, name] of browsers) {
    const version = pattern.exec(userAgent)?.[1];
    if (version !== undefined)
      return `${name} ${version}${system === undefined ? "" : ` on ${system}`}`;
  }
  return userAgent.slice(0, 60);
}

const programStates: Readonly<Record<ProgramView["state"], { text: string; tone: BadgeTone }>> = {
  running: { text: "Running", tone: "ok" },
  waiting: { text: "Restarting soon", tone: "warn" },
  ended: { text: "Exited", tone: "bad" },
  stopped: { text: "Stopped", tone: "warn" },
};

export const programState = (state: ProgramView["state"]): { text: string; tone: BadgeTone } =>
  programStates[state];

/** Returns the rows of the program card as names and values. */
export function programDetails(program: ProgramView): [name: string, value: string][] {
  const { pid, restarts, lastEnd, inWork, queued, answered, failed, stopped } = program;
  const settled = [
    `${formatCount(answered)} answered`,
    `${formatCount(failed)} failed`,
    ...(stopped > 0 ? [`${formatCount(stopped)} stopped`] : []),
  ];
  return [
    ...(pid === undefined ? [] : [["Process", String(pid)] as [string, string]]),
    [
      "Restarts",
      lastEnd === undefined
        ? formatCount(restarts)
        : `${formatCount(restarts)}, last exit: ${lastEnd}`,
    ],
    ["Messages", settled.join(", ")],
    ["Now", `${formatCount(inWork)} in progress, ${formatCount(queued)} queued`],
    ["Stop", program.knowsStop ? "Supported" : "Not supported by this program"],
  ];
}

/** Describes the stops that the program ignored; empty if there are none. */
export function deafLabel({ deaf }: Pick<ProgramView, "deaf">): string {
  if (deaf === 0) return "";
  const replies = deaf === 1 ? "a stopped reply" : `${formatCount(deaf)} stopped replies`;
  return `The program has not ended ${replies} in time. Its output about them is dropped.`;
}

/** Badge text and tone of each link state. */
export const linkStateBadges: Readonly<Record<LinkState, readonly [string, string]>> = {
  idle: ["Connecting", "off"],
  connecting: ["Connecting", "off"],
  open: ["Connected", "ok"],
  waiting: ["Reconnecting…", "warn"],
  blocked: ["Disconnected", "bad"],
  stopped: ["Disconnected", "bad"],
};

const linkCloseMessages: Readonly<Record<string, string>> = {
  normal: "The server closed the connection.",
  session_ended: "Your session has ended. Sign in, then connect again.",
  bad_request: "The channel closed the connection because it received malformed messages.",
  unauthorized: "The channel no longer has a token.",
  forbidden: "The owner disconnected this client.",
  replaced: "Another connection continues this conversation.",
};

/** Explains why the link will not reconnect by itself. */
export const linkClosedMessage = (reason: string): string =>
  lookUp(linkCloseMessages, reason) ?? `The connection was closed (${reason}).`;

const linkRejections: Readonly<Record<string, string>> = {
  no_channel: "This service has no channel.",
  not_found: "The channel is off. Turn it on in Overview.",
  too_many_connections: "The channel has reached its maximum number of connections.",
};

/**
 * Explains why the channel rejects connections.
 *
 * @returns One sentence, or undefined if the link recovers by itself.
 */
export const linkRejectedMessage = (reason: string): string | undefined =>
  lookUp(linkRejections, reason);

const testResults: Readonly<Record<string, string>> = {
  token_query_disabled: "allow_token_query is off. Turn it on only for clients that need it.",
  not_found: "The channel is off.",
  token_not_configured: "The channel has no token yet.",
  token_mismatch: "The channel rejected the token.",
  token_missing: "The channel received no token. A proxy may have removed the header.",
  rate_limited: "This machine sent too many wrong tokens. Try again in a minute.",
  too_many_connections: "The channel has reached its maximum number of connections.",
  origin_not_allowed: "allow_origins does not include the origin of this page.",
  timeout: "The channel did not respond in time.",
  network: "No server responded at this URL.",
};

/** Explains in one sentence why a connection test failed. */
export function testResultLabel(code: string): string {
  return lookUp(testResults, code) ?? `The response was: ${code.replaceAll("_", " ")}.`;
}

type Store = NonNullable<StatusView["store"]>;

/** Describes the store of conversations in one line. */
export function storeLabel(store: Store): string {
  const { kind, state, problem, conversations, bytes, nodes = [] } = store;
  if (problem !== undefined) return problem;
  if (state === "away") return "The store is not available";
  if (kind === "memory") return "In memory, not kept after a stop";
  if (kind === "redis") {
    const up = nodes.filter((node) => node.state === "up").length;
    return `In Redis, ${formatCount(up)} ${up === 1 ? "node" : "nodes"}`;
  }
  const noun = conversations === 1 ? "conversation" : "conversations";
  return `${formatCount(conversations)} ${noun} on disk, ${formatBytes(bytes ?? 0)}`;
}
