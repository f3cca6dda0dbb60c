/** What the pages call things. Pure: the server writes the first state with them, the script each later one. */
import type { StatusView, TokenView } from "../status.ts";

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
