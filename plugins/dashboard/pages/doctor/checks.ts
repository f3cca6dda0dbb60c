// Sorts the checks of the doctor: findings first, then the passed ones in groups.
import type { CheckView } from "../../shared/views.ts";

/** A group of checks that passed. */
interface CheckGroup {
  readonly name: string;
  readonly icon: string;
  readonly checks: readonly CheckView[];
}

const groupInfos = [
  { name: "Channel", icon: "cable" },
  { name: "Tokens", icon: "key-round" },
  { name: "Network", icon: "globe" },
  { name: "Application", icon: "bot" },
  { name: "System", icon: "server" },
] as const;
type GroupName = (typeof groupInfos)[number]["name"];

/** Start of the check id -> its group. Others belong to the system. */
const groupByPrefix: readonly (readonly [RegExp, GroupName])[] = [
  [/^(token-configured|header-form|token-query|handshake|origins|refused-clients)/, "Channel"],
  [/^(launcher-token|token-)/, "Tokens"],
  [/^(port|public-|proxy)/, "Network"],
  [/^(program|plugins)/, "Application"],
];

const groupOf = (id: string): GroupName =>
  groupByPrefix.find(([pattern]) => pattern.test(id))?.[1] ?? "System";

/** Returns the passed checks in groups, without empty groups. */
export function passedGroups(checks: readonly CheckView[]): readonly CheckGroup[] {
  const passed = checks.filter(({ result }) => result === "ok");
  return groupInfos
    .map((info) => ({ ...info, checks: passed.filter(({ id }) => groupOf(id) === info.name) }))
    .filter((group) => group.checks.length > 0);
}

/** Returns the checks that did not pass, failed ones first. */
export function findingsOf(checks: readonly CheckView[]): readonly CheckView[] {
  return (["failed", "warning"] as const).flatMap((wanted) =>
    checks.filter(({ result }) => result === wanted),
  );
}

export const countOf = (checks: readonly CheckView[], wanted: CheckView["result"]): number =>
  checks.filter(({ result }) => result === wanted).length;

/** Counts the findings in one line: `1 problem and 2 warnings`. */
export function verdict(checks: readonly CheckView[]): string {
  const failed = countOf(checks, "failed");
  const warnings = countOf(checks, "warning");
  const parts = [
    failed > 0 && (failed === 1 ? "1 problem" : `${failed} problems`),
    warnings > 0 && (warnings === 1 ? "1 warning" : `${warnings} warnings`),
  ].filter(Boolean);
  return parts.length === 0 ? "Everything is fine" : parts.join(" and ");
}

/** Check id -> name of what is wrong, for the heading of a finding. */
const findingTitles: Readonly<Record<string, string>> = {
  "token-configured": "Channel token",
  "header-form": "Authorization header",
  "token-query": "Token in URL",
  handshake: "Test connections",
  "refused-clients": "Rejected connections",
  "token-in-config": "Token in config.json",
  "token-places": "Different values of one token",
  "token-strength": "Weak token",
  "files-readable": "Malformed file",
  "file-modes": "Files that other users can read",
  "secrets-in-git": "Tokens in version control",
  clock: "Clock of this machine",
  "conversation-store": "Store of conversations",
  port: "Port in use",
  "public-without-tls": "Connections without encryption",
  "public-url": "Public URL",
  "public-name": "Name of the public URL",
  "public-certificate": "Certificate",
  "public-redirect": "Redirect from http",
  "public-launcher": "Response of this launcher",
  "public-path": "Path of the public URL",
  "public-scheme": "Scheme of the browser",
  "public-host": "Host of the browser",
  "public-client-address": "Addresses of clients",
  "public-headers": "Headers of clients",
  "public-identity": "Names that visitors claim",
  "public-cookies": "Cookies",
  "public-range": "Parts of files",
  "public-compression": "Compressed pages",
  "public-http2": "HTTP/2",
  "public-channel": "Path of the channel",
  "public-websocket": "WebSockets",
  "public-websocket-silence": "Silent WebSockets",
  "public-stream": "Server-sent events",
  "public-stream-silence": "Silent streams",
  "public-body": "Size of files",
  origins: "Allowed origins",
  proxy: "Reverse proxy",
  "proxy-upgrade": "WebSockets through the proxy",
  plugins: "Third-party plugins",
  "program-running": "Application",
  "program-stop-timed-out": "Stopped replies",
  "program-edited": "Edited command",
  program: "Command of the application",
};

/** Heading of a finding: a noun where one is known, else the condition that does not hold. */
export function findingTitle({ id, title }: CheckView): string {
  return Object.hasOwn(findingTitles, id) ? findingTitles[id]! : title;
}

/** Check id -> the page that helps, without the base path. */
const relatedPages: Readonly<Record<string, { readonly name: string; readonly path: string }>> = {
  "refused-clients": { name: "Show failed attempts", path: "/security" },
  "token-strength": { name: "Show tokens", path: "/security" },
  "token-configured": { name: "Show tokens", path: "/security" },
  "token-query": { name: "Open setting", path: "/settings/access" },
  origins: { name: "Open setting", path: "/settings/access" },
  "program-running": { name: "Show output", path: "/activity?q=source:program" },
};

export const relatedPage = (id: string): { name: string; path: string } | undefined =>
  Object.hasOwn(relatedPages, id) ? relatedPages[id] : undefined;

/** A fix in parts: sentences to read and commands to copy. */
interface FixParts {
  readonly text: string;
  readonly commands: readonly string[];
}

const commandStart = /^(?:doorward|chmod|chown|git|npm) /;
const isCommand = (text: string): boolean => commandStart.test(text) && !/[()]/.test(text);

/** Finds the commands in a fix. A part with an explanation in parentheses stays text. */
export function fixParts(fix: string): FixParts {
  const parts = fix.split(/; |, then: /).map((part) => part.replace(/\.$/, "").trim());
  const commands = parts.filter(isCommand);
  const isWhole = commands.length === parts.length;
  return { text: isWhole ? "" : toSentence(fix), commands };
}

/** Begins with a capital letter, unless the first word is a command or a name in the files. */
function toSentence(text: string): string {
  const sentence = /^[a-z]+ /.test(text) && !commandStart.test(text) ? capitalize(text) : text;
  return /[.)]$/.test(sentence) ? sentence : `${sentence}.`;
}

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Splits a text at its backticks: every second part is code. */
export const codeParts = (text: string): readonly string[] => text.split("`");
