/* Checks the way from outside to a running launcher, over its public URL. The launcher answers at
 * its probe, and proves that it is the one that the owner asked. */
import type { CheckView, ProbeGrant } from "../../../plugins/dashboard/index.ts";
import { describeFailure } from "../../../lib/files/index.ts";
import { createCheck } from "../survey.ts";
import { bodyCheck } from "./body.ts";
import { certificateCheck, nameCheck, redirectCheck, tokenCheck } from "./certificate.ts";
import {
  arrivalOf,
  clientAddressCheck,
  compressionCheck,
  cookieCheck,
  forgeryOf,
  headersCheck,
  hostCheck,
  identityCheck,
  rangeCheck,
  schemeCheck,
  type Arrival,
} from "./headers.ts";
import { proxyHeaderCheck } from "./proxy-header.ts";
import { createReporter, nameOf, recogniseProxy, wayCheck, type Reporter } from "./reporter.ts";
import { http2Check, socketSilenceCheck, webSocketCheck } from "./socket.ts";
import { streamCheck, streamSilenceCheck } from "./stream.ts";
import { askProbe, jsonOf, type Answer, type Way } from "./way.ts";

interface PublicCheckRequest {
  readonly grant: ProbeGrant;
  /** @defaultValue `gateway.public_url` */
  readonly url?: string;
  /** Leaves out the silence, and sends a small body. */
  readonly isQuick: boolean;
  /** Seconds of silence. @defaultValue 120 */
  readonly silenceS?: number;
  /** Port of http, if the one of https is not 443. */
  readonly httpPort?: number;
  /** Certificates of authorities to trust in addition, as PEM. */
  readonly ca?: string;
  /** Sent as `Authorization`, if the proxy asks for a token itself. */
  readonly token?: string;
  /** Unix milliseconds. */
  readonly now: number;
  readonly random: (bytes: number) => Uint8Array;
  /** Receives a sentence for each step. */
  readonly say: (step: string) => void;
  readonly signal?: AbortSignal;
}

const defaultSilenceS = 120;

/** Runs all checks. Those that need the launcher to answer are left out if it does not. */
export async function checkPublic(request: PublicCheckRequest): Promise<CheckView[]> {
  const address = request.url ?? request.grant.publicUrl;
  const own = createCheck("public-url", "The public URL");
  if (address === undefined)
    return [
      own.warning(
        "No public URL is set, so there is no way in to check.",
        'set "public_url": "https://NAME" in gateway of config.json, or name it: ' +
          "doorward doctor -public URL",
      ),
    ];
  const way = toWay(address, request);
  if (!way)
    return [
      own.failed(
        "The public URL is not an http or https URL.",
        "write https://NAME, with its path",
      ),
    ];
  const found = await checkWay(way, request);
  return [own.ok(`It is ${way.url.origin}${way.path}.`), ...found.map(withCapital)];
}

/** A reason may begin with "the proxy", if it was not recognised. */
const withCapital = (check: CheckView): CheckView => ({
  ...check,
  reason: check.reason.replace(/^the /, "The "),
});

function toWay(
  address: string,
  { grant, ca, token, signal, random }: PublicCheckRequest,
): Way | undefined {
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) return undefined;
  const url = new URL(address);
  const given = url.pathname.replace(/(?<!\/)\/+$/, "");
  const isChannelOnly = given.endsWith("/pico");
  const path = isChannelOnly ? given.slice(0, -"/pico".length) : given || grant.basePath;
  return { url: new URL(url.origin), path, grant, isChannelOnly, ca, token, signal, random };
}

type Checks = (CheckView | undefined)[];

async function checkWay(way: Way, request: PublicCheckRequest): Promise<CheckView[]> {
  const { say } = request;
  const present = (checks: Checks): CheckView[] => checks.flatMap((check) => check ?? []);
  say("Name and certificate…");
  const named = await nameCheck(way);
  if (named?.result === "failed") return [named];
  const asked = async (): Promise<CheckView | Arrival | Answer> =>
    (await tokenCheck(way, request.now)) ?? arrivalOf(way);
  const first = await asked().catch((error: NodeJS.ErrnoException) => error);
  if (first instanceof Error) return present([named, unreachable(way, first)]);
  if ("result" in first) return present([named, first]);
  const isArrived = "facts" in first;
  const facts = isArrived ? first.facts : {};
  const isDirect = isArrived && !first.isProxied;
  const proxy = isDirect
    ? undefined
    : await recogniseProxy(way, isArrived ? first.answer : first, facts);
  const reporter = createReporter(way, proxy, isArrived ? upstreamOf(first) : {});
  const certificate = await certificateCheck(way, reporter, request.now);
  const outside = [named, certificate, await redirectCheck(way, reporter, request.httpPort)];
  if (!isArrived) return present([...outside, ...strangerChecks(way, first, reporter)]);
  const launcher = createCheck("public-launcher", "This launcher answers");
  const by = isDirect ? "directly" : `through ${proxy ? nameOf(proxy) : "a proxy"}`;
  return present([
    ...outside,
    launcher.ok(`It answered ${by}, and proved it.`),
    pathCheck(way, reporter),
    ...(await arrivedChecks(way, first, reporter, request)),
  ]);
}

/** The address at which the proxy reaches the launcher is the host that it sends without a fix. */
const upstreamOf = ({ facts }: Arrival): { upstream?: string } =>
  /^[\d.]+:\d+$/.test(facts.headers["host"] ?? "") && facts.headers["host"] !== undefined
    ? { upstream: facts.headers["host"] }
    : {};

function unreachable({ url }: Way, error: NodeJS.ErrnoException): CheckView {
  const own = createCheck("public-launcher", "This launcher answers");
  return own.failed(
    `${url.host} does not answer: ${describeFailure(error)}.`,
    "start the proxy, and open its port in firewall and router. Some routers do not " +
      "lead from inside to " +
      "their own public address: then run the check on a machine outside, or let the " +
      "name lead to this " +
      "machine in the local DNS",
  );
}

/** Errors with which the dashboard of another launcher answers a request without a sign-in. */
const errorsOfLaunchers: ReadonlySet<string> = new Set([
  "unauthorized",
  "not_found",
  "setup_required",
  "host_not_allowed",
  "unavailable",
]);

/** A response that this launcher did not prove. */
function strangerChecks(way: Way, answer: Answer, { fix, proxy }: Reporter): CheckView[] {
  const { status } = answer;
  const { error, message = "" } = jsonOf<{ error: string; message: string }>(answer);
  const path = createCheck("public-path", "The path of the public URL arrives");
  if (status === 404 && message.includes("base_path"))
    return [
      path.failed(`${nameOf(proxy)} removes ${way.path || "the path"} from requests.`, fix("path")),
    ];
  const own = createCheck("public-launcher", "This launcher answers");
  const other =
    `${way.url.host} answered with ${status}, but not this launcher: it leads to ` +
    `another machine or ` +
    "program, or the proxy answers itself";
  const port = way.grant.basePath === "" ? "" : ` and path ${way.grant.basePath}`;
  const fixes =
    `let ${nameOf(proxy)} lead to the address${port} of this launcher ` +
    `(doorward status), or correct gateway.public_url`;
  if (error !== undefined && errorsOfLaunchers.has(error))
    return [own.failed(`${way.url.host} is another Doorward, or another node of this one.`, fixes)];
  if (status === 502 || status === 503 || status === 504)
    return [
      own.failed(
        `${nameOf(proxy)} does not reach the launcher (status ${status}).`,
        "let it lead to the address that doorward status shows",
      ),
    ];
  if (status === 401 || status === 407)
    return [
      own.failed(
        `${nameOf(proxy)} asks for a password or token itself (status ${status}).`,
        "name a token that it accepts with -token-file, or let it pass /pico without a password",
      ),
    ];
  return [own.failed(`${other}.`, fixes)];
}

function pathCheck(way: Way, { proxy, fix }: Reporter): CheckView | undefined {
  const { basePath } = way.grant;
  if (way.path === "" && basePath === "") return undefined;
  const own = createCheck("public-path", "The path of the public URL arrives");
  if (way.path === basePath) return own.ok(`It is ${basePath}.`);
  return own.failed(
    `The public URL has the path "${way.path || "/"}", and base_path is ` +
      `"${basePath || "/"}", so links ` +
      `lead elsewhere. ${nameOf(proxy)} changes the path.`,
    `set "base_path": "${way.path}" in launcher-config.json, and let the path pass: ${fix("path")}`,
  );
}

async function arrivedChecks(
  way: Way,
  arrival: Arrival,
  reporter: Reporter,
  { say, isQuick, silenceS = defaultSilenceS }: PublicCheckRequest,
): Promise<Checks> {
  say("Headers and cookies…");
  const forgery = await forgeryOf(way);
  const checks: Checks = [
    schemeCheck(way, arrival, reporter),
    hostCheck(way, arrival, forgery, reporter),
    clientAddressCheck(arrival, forgery, reporter),
    await headersCheck(way, reporter),
    identityCheck(arrival, forgery, reporter, way),
    await proxyHeaderCheck(way, reporter),
    await cookieCheck(way, reporter),
    await rangeCheck(way, reporter),
    await compressionCheck(way, reporter),
    await http2Check(way, reporter),
  ];
  say("Channel…");
  const channel = await channelCheck(way, reporter);
  checks.push(channel);
  if (channel.result === "failed") return checks;
  say("WebSocket…");
  const webSocket = await webSocketCheck(way, reporter);
  say("Events…");
  const stream = await streamCheck(way, reporter);
  say("Body…");
  checks.push(webSocket, stream, await bodyCheck(way, reporter, isQuick, say));
  if (isQuick) return checks;
  return [...checks, ...(await silenceChecks(way, reporter, silenceS, { webSocket, stream, say }))];
}

/** The paths of the channel lead to this launcher, too. */
const channelCheck = wayCheck(
  "public-channel",
  "The channel is served",
  async (own, way, { fix }) => {
    const answer = await askProbe(way, { action: "facts", isOfChannel: true });
    if (answer.isProven) return own.ok(`${way.path}/pico leads to this launcher.`);
    return own.failed(
      `${way.path}/pico does not lead to this launcher (status ${answer.status}).`,
      fix("channel"),
    );
  },
);

interface Opened {
  readonly webSocket: CheckView;
  readonly stream: CheckView;
  readonly say: (step: string) => void;
}

const progressMs = 15_000;

/** Runs both checks in parallel, and leaves out one whose connection did not open. */
async function silenceChecks(
  way: Way,
  reporter: Reporter,
  seconds: number,
  { webSocket, stream, say }: Opened,
): Promise<Checks> {
  const startedAt = performance.now();
  const tell = (): void =>
    say(`Silence: ${Math.round((performance.now() - startedAt) / 1_000)} of ${seconds} s…`);
  tell();
  const progress = setInterval(tell, progressMs);
  try {
    return await Promise.all([
      webSocket.result === "ok" ? socketSilenceCheck(way, reporter, seconds) : undefined,
      stream.result === "ok" ? streamSilenceCheck(way, reporter, seconds) : undefined,
    ]);
  } finally {
    clearInterval(progress);
  }
}
