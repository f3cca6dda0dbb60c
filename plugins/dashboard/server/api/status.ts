/** `GET /api/status`, and the warnings that it shows. @module */
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Http } from "../../../http/index.ts";
import type { PicoServerStatus } from "../../../pico-server/index.ts";
import type { SettingsSection } from "../../../settings/index.ts";
import { formatUtc } from "../../../../lib/util.ts";
import { ownOrigin } from "../auth/guard.ts";
import type { AuthContext, DashboardContext, ServiceContext } from "../context.ts";
import { requestState } from "../request.ts";
import { otherChannels } from "./attached-channels.ts";
import { enabledAccess, sectionsOf } from "./settings.ts";
import { tokenNames, tokensView } from "./tokens.ts";
import { protocolTokens } from "../../shared/protocols.ts";
import type {
  ChannelView,
  StatusView,
  TokenRow,
  TokenView,
  WarningView,
} from "../../shared/views.ts";

const repairHint = "Fix the file. Until then the previous content stays in effect.";

/** @returns The warnings of the overview. The doctor checks find these problems and more. */
async function warningsOf(
  context: DashboardContext,
  sections: readonly SettingsSection[],
): Promise<WarningView[]> {
  const files = fileWarnings(sections);
  const tokens = await tokenWarnings(context.auth).catch(({ message }: Error) => {
    // One file can hold settings and tokens: report it once.
    if (files.some(({ text }) => text.includes(message))) return [];
    const text = `An edit of the tokens was rejected: ${message}`;
    return [{ id: "tokens-not-taken", text, fix: repairHint }];
  });
  return [
    ...applicationWarnings(context.services),
    ...storeWarnings(context.services),
    ...(await backupWarnings(context.services, context.auth.clock.now())),
    ...listenerWarnings(context.http),
    ...proxyWarnings(context.http),
    ...tokens,
    ...pluginWarnings(context.services),
    ...files,
  ];
}

function listenerWarnings(http: Http): WarningView[] {
  if (!http.isPublic() || !http.addresses().some(({ protocol }) => protocol === "http:")) return [];
  return [
    {
      id: "public-without-tls",
      text: "Other machines can reach the dashboard without encryption and read tokens on the way.",
      fix: 'Set "tls" in launcher-config.json, or use a reverse proxy with https.',
    },
  ];
}

function proxyWarnings(http: Http): WarningView[] {
  const network = http.trustedLoopback();
  if (network === undefined) return [];
  return [
    {
      id: "trusted-loopback",
      text:
        `"trusted_proxies" contains ${network}: any program on this machine can set the client ` +
        "address of its requests, and so evade the limit on wrong tokens.",
      fix: "Let the proxy connect from its own address, or run only your programs here.",
    },
  ];
}

async function tokenWarnings(auth: AuthContext): Promise<WarningView[]> {
  const { tokens } = await tokensView(auth);
  return tokens.flatMap((row) => {
    const { name, source, concern } = row;
    const inConfig = source === "config" && name !== "launcher" && name !== "metrics";
    const found: WarningView[] = [];
    if (inConfig)
      found.push({
        id: "token-in-config",
        text: `The ${name} token is in config.json. Use that only for development.`,
        fix: "Move it to .security.yml, or to an environment variable in containers.",
      });
    if (concern)
      found.push({
        id: "token-weak",
        text: `The ${name} token is weak: ${concern}.`,
        fix: longerTokenFix(row),
      });
    return found;
  });
}

function longerTokenFix({ name, managedByEnv, variable }: TokenRow): string {
  if (managedByEnv && variable !== undefined) return `Change ${variable}, then restart.`;
  if (name === "metrics") return "Rotate it: doorward token rotate metrics";
  if (["launcher", "pico", ...protocolTokens].includes(name)) {
    return `Rotate it on the page Security, or run: doorward token rotate ${name}`;
  }
  // Another system issues this token, so a token generated here would not work there.
  return `Get a longer token from the server that issued it, then run: doorward token set ${name}`;
}

/** @returns One warning per problem, even if it affects several sections. */
export function fileWarnings(sections: readonly SettingsSection[]): WarningView[] {
  const problems = new Set(sections.flatMap(({ problem }) => problem ?? []));
  return [...problems].map((problem) => ({
    id: "settings-not-taken",
    text: `An edit of the settings was rejected: ${problem}`,
    fix: repairHint,
  }));
}

/** The store cannot be written, or waits for the owner to check something. */
function storeWarnings({ conversations }: ServiceContext): WarningView[] {
  const { problem, notice, fix = "Read the log." } = conversations?.health() ?? {};
  const text = problem ?? notice;
  return text === undefined ? [] : [{ id: "store", text, fix }];
}

/** The latest attempt has failed, or the launcher was to make a backup and has not. */
async function backupWarnings({ backups }: ServiceContext, now: number): Promise<WarningView[]> {
  const { failed, last, lateMs = 0 } = (await backups?.view()) ?? {};
  const id = "backup";
  if (failed)
    return [{ id, text: failed.reason, fix: "Fix the cause, then run: doorward backup FILE" }];
  if (lateMs === 0 || last === undefined || now - last.at <= lateMs) return [];
  const text = `The last good backup is of ${formatUtc(last.at)}.`;
  return [{ id, text, fix: "Read the log, or run: doorward backup FILE" }];
}

function pluginWarnings(services: ServiceContext): WarningView[] {
  const failed = services.pluginViews().filter(({ state }) => state === "failed");
  return failed.map(({ from, reason }) => ({
    id: `plugin-failed-${from}`,
    text: reason ?? `The plugin "${from}" is not running.`,
    fix: 'Fix the plugin or remove it from "plugins" in config.json, then restart.',
  }));
}

const channelSection = "channels.pico";
/** Minutes of the chart in the status. */
const chartMinutes = 10;

/** Adds `GET /api/status`. */
export function statusRoute(app: FastifyInstance, context: DashboardContext): void {
  app.get("/api/status", async (request, reply) => reply.send(await statusOf(context, request)));
}

/** @returns The content of the overview. */
export async function statusOf(
  context: DashboardContext,
  request: FastifyRequest,
): Promise<StatusView> {
  const sections = await sectionsOf(context.services);
  const channel = channelOf(context, request, sections);
  const others = otherChannels(context.services);
  return {
    state: context.runtime.state(),
    version: context.site.version,
    startedAt: context.runtime.startedAt,
    now: context.auth.clock.now(),
    addresses: context.http.addresses().map((url) => url.href),
    tokens: tokenNames(context.auth)
      .filter((name) => name !== "metrics")
      .map((name) => tokenOf(context.auth, name)),
    ...(channel ? { channel } : {}),
    ...(others.length > 0 && { otherChannels: others }),
    signIns: context.observers.activity.signIns(),
    refusals: context.observers.activity.refusals(),
    warnings: await warningsOf(context, sections),
    ...(await openQuestions(context.services)),
    ...(context.services.program ? { program: context.services.program.status() } : {}),
    ...applicationFacts(context.services),
    ...launcherFacts(context),
    ...(context.services.conversations && { store: context.services.conversations.health() }),
    ...(context.services.backups && { backup: await context.services.backups.view() }),
    ...(context.services.pluginViews().length > 0
      ? { plugins: context.services.pluginViews() }
      : {}),
  };
}

function applicationFacts({ channels }: ServiceContext): Pick<StatusView, "application"> {
  const application = channels?.applicationStatus();
  return application ? { application } : {};
}

/** The application says that it cannot answer, and how to repair it. */
function applicationWarnings({ channels }: ServiceContext): WarningView[] {
  const { state, name = "The application", message, fix } = channels?.applicationStatus() ?? {};
  if (state !== "needs_action" && state !== "failed") return [];
  const what = state === "failed" ? "cannot answer" : "needs something from you";
  const text = message === undefined ? `${name} ${what}.` : message;
  return [{ id: "application", text, fix: fix ?? "Read its output on the page Activity." }];
}

async function openQuestions({ channels }: ServiceContext): Promise<Pick<StatusView, "questions">> {
  const open = (await channels?.allQuestions())?.length ?? 0;
  return open > 0 ? { questions: open } : {};
}

/** @returns True as soon as there is something to read in the chat. */
export function hasGreeted({ observers, services }: DashboardContext): boolean {
  const health = services.conversations?.health();
  return observers.figures.hasAnswered() || (health !== undefined && health.conversations > 0);
}

/** The facts that the guide of a first visit shows. */
function launcherFacts(context: DashboardContext): Pick<StatusView, "echo" | "firstSteps"> {
  const { site, observers, auth } = context;
  const { runCommand: run } = site;
  if (run === undefined) return {};
  const device = observers.activity.hasClient() || auth.sessions.list().length > 1;
  const firstSteps = { run, greeted: hasGreeted(context), device };
  return { echo: site.echoes(), firstSteps };
}

function tokenOf({ tokens }: AuthContext, name: string): TokenView {
  const { source, managedByEnv } = tokens.info(name);
  return { name, source, managedByEnv };
}

/**
 * @param sections - Read before the status: the etag must not be newer than the values that the
 * page
 *   shows, else a change could overwrite values that the user has not seen.
 */
export function channelOf(
  context: DashboardContext,
  request: FastifyRequest,
  sections: readonly SettingsSection[],
): ChannelView | undefined {
  if (!context.services.picoServer) return undefined;
  const section = sections.find(({ section: name }) => name === channelSection);
  const status = context.services.picoServer.status();
  return {
    enabled: status.enabled,
    url: channelUrl(context, request, status),
    connections: status.connections,
    maxConnections: status.maxConnections,
    messagesIn: status.messagesIn,
    messagesOut: status.messagesOut,
    perMinute: context.observers.figures.perMinute(chartMinutes),
    refusals: context.observers.activity.clientRefusals(),
    ...enabledAccess(context.site, section),
  };
}

/** @returns The URL of the channel for programs on the machine of the requesting browser. */
export function channelUrl(
  context: DashboardContext,
  request: FastifyRequest,
  status: PicoServerStatus,
): string {
  const { peer } = requestState(request);
  const url = new URL(ownOrigin({ ...peer, host: context.site.privateHost.plainHost(peer) }));
  const [gateway] = status.listener === "gateway" ? context.http.addresses("gateway") : [];
  if (gateway) url.port = gateway.port;
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.pathname = status.path;
  return url.href;
}
