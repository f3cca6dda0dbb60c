// Checks of the public URL: name, certificate, and redirect from http.
import { lookup } from "node:dns/promises";
import { request } from "node:http";
import { isIP } from "node:net";
import { checkServerIdentity, connect, type DetailedPeerCertificate } from "node:tls";
import type { CheckView } from "../../../plugins/dashboard/index.ts";
import { isLoopback } from "../../../plugins/http/index.ts";
import { createCheck } from "../survey.ts";
import { createReporter, recogniseProxy, wayCheck, type Reporter } from "./reporter.ts";
import { responseOf, timeoutError, tlsOf, type Way } from "./way.ts";

const connectTimeoutMs = 10_000;
const dayMs = 86_400_000;
/** A certificate is usually renewed when a third of its time is left. */
const renewedShare = 0.2;
const soonDays = 14;

const hostOf = ({ url }: Way): string => url.hostname.replace(/^\[(.*)\]$/, "$1");

/** Whether the name has an address. */
export async function nameCheck(way: Way): Promise<CheckView | undefined> {
  const host = hostOf(way);
  if (isIP(host) !== 0) return undefined;
  const own = createCheck("public-name", "The name of the public URL has an address");
  try {
    const found = await lookup(host, { all: true });
    return own.ok(`${host} is ${found.map(({ address }) => address).join(", ")}.`);
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    return own.failed(
      `${host} has no address (${code}).`,
      `add an A or AAAA record for ${host} at your DNS provider, or correct gateway.public_url`,
    );
  }
}

interface Handshake {
  readonly problem: string | undefined;
  readonly certificate: DetailedPeerCertificate;
}

/** Opens TLS as a browser does. Rejects with the error of the connection. */
function shakeHands(way: Way): Promise<Handshake> {
  const host = hostOf(way);
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port: Number(way.url.port || 443),
      ...(isIP(host) === 0 && { servername: host }),
      ...tlsOf(way),
      rejectUnauthorized: false,
      ALPNProtocols: ["http/1.1"],
    });
    const timer = setTimeout(() => socket.destroy(timeoutError()), connectTimeoutMs);
    socket.once("close", () => clearTimeout(timer));
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      const { authorizationError } = socket;
      const certificate = socket.getPeerCertificate(true);
      socket.destroy();
      resolve({ certificate, problem: authorizationError?.toString() });
    });
  });
}

/** @returns The certificates that the server sent. */
function chainLength(certificate: DetailedPeerCertificate): number {
  const seen = new Set<string>();
  let current: DetailedPeerCertificate | undefined = certificate;
  while (current?.fingerprint256 && !seen.has(current.fingerprint256)) {
    seen.add(current.fingerprint256);
    current = current.issuerCertificate;
  }
  return seen.size;
}

const isSelfSigned = ({ subject, issuer }: DetailedPeerCertificate): boolean =>
  JSON.stringify(subject) === JSON.stringify(issuer);

/** Checks name, time and chain. */
export const certificateCheck = wayCheck(
  "public-certificate",
  "The certificate is valid",
  async (own, way, { fix }, now: number) => {
    if (way.url.protocol !== "https:") {
      if (isLoopback(way.url.hostname))
        return own.ok("This machine only: no certificate is needed.");
      return own.failed(
        "The public URL begins with http, so the network can read tokens and conversations.",
        "set up https (docs/deploy.md), and let gateway.public_url begin with https",
      );
    }
    const { certificate, problem } = await shakeHands(way);
    const host = hostOf(way);
    const misnamed = checkServerIdentity(host, certificate);
    if (misnamed) {
      const names = (certificate.subjectaltname ?? "no name").slice(0, 200);
      return own.failed(`It is for ${names}, not for ${host}.`, fix("certificate"));
    }
    const [from, to] = [Date.parse(certificate.valid_from), Date.parse(certificate.valid_to)];
    const date = new Date(to).toISOString().slice(0, 10);
    if (to <= now) return own.failed(`It expired on ${date}.`, fix("certificate"));
    if (from > now)
      return own.failed(
        "It is not valid yet.",
        "set the clock of this machine, for example with NTP",
      );
    const days = Math.floor((to - now) / dayMs);
    const left = days >= 2 ? `${days} days` : `${Math.ceil((to - now) / 3_600_000)} hours`;
    const untrusted = problem && describeChain(certificate, own, fix, way);
    if (untrusted) return untrusted;
    if (to - now < Math.min(soonDays * dayMs, (to - from) * renewedShare))
      return own.warning(
        `It expires in ${left}, on ${date}, and was not renewed yet.`,
        fix("renewal"),
      );
    return own.ok(`It is for ${host}, and valid for ${left}.`);
  },
);

/**
 * A token is sent only over a connection whose certificate is valid. Rejects with the error of the
 * connection.
 *
 * @returns Why it is not sent.
 */
export async function tokenCheck(way: Way, now: number): Promise<CheckView | undefined> {
  const { url, token } = way;
  if (token === undefined) return undefined;
  const isSecure = url.protocol === "https:";
  if (isSecure ? (await shakeHands(way)).problem === undefined : isLoopback(url.hostname))
    return undefined;
  const reporter = createReporter(way, await recogniseProxy(way, undefined, {}), {});
  const { id, title, reason, fix = "" } = await certificateCheck(way, reporter, now);
  return createCheck(id, title).failed(`${reason} The token was not sent.`, fix);
}

function describeChain(
  certificate: DetailedPeerCertificate,
  own: ReturnType<typeof createCheck>,
  fix: Reporter["fix"],
  { ca }: Way,
): CheckView {
  const issuer = String(certificate.issuer.CN ?? certificate.issuer.O ?? "an unknown authority");
  if (isSelfSigned(certificate))
    return own.failed("It is signed by itself, so browsers warn.", fix("certificate"));
  if (chainLength(certificate) === 1)
    return own.failed(
      `The server does not send the intermediate certificate "${issuer}", so some ` +
        `clients reject it.`,
      fix("intermediate"),
    );
  return own.warning(
    `Its authority "${issuer}" is not known to this machine. Devices need its root certificate.`,
    ca === undefined
      ? "install the root certificate on each device (Caddy: caddy trust), and name it here: " +
          "doorward doctor -public -ca FILE"
      : "name the file of the root certificate with -ca",
  );
}

/** Whether http leads to https. */
export async function redirectCheck(
  way: Way,
  { fix }: Reporter,
  httpPort: number | undefined,
): Promise<CheckView | undefined> {
  if (way.url.protocol !== "https:") return undefined;
  if (way.url.port !== "" && httpPort === undefined) return undefined;
  const own = createCheck("public-redirect", "http leads to https");
  const url = new URL(`http://${way.url.hostname}:${httpPort ?? 80}${way.path}/`);
  const asked = request(url, { agent: false, ...(way.signal && { signal: way.signal }) });
  const timer = setTimeout(() => asked.destroy(timeoutError()), connectTimeoutMs);
  try {
    const response = await responseOf(asked);
    response.resume();
    const { statusCode: status = 0, headers } = response;
    const target = headers.location ?? "";
    const isRedirect = status >= 301 && status <= 308 && URL.canParse(target);
    if (
      isRedirect &&
      new URL(target).protocol === "https:" &&
      new URL(target).hostname === url.hostname
    )
      return own.ok(`${url.host} redirects (${status}).`);
    return own.failed(
      `http://${url.host} answers with ${status} and no redirect, so tokens can be sent ` +
        `unencrypted.`,
      fix("redirect"),
    );
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    return own.warning(
      `http://${url.host} does not answer (${code}): addresses without https show an error.`,
      fix("redirect"),
    );
  } finally {
    clearTimeout(timer);
    asked.destroy();
  }
}
