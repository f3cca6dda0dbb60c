// Doctor checks for listeners, origins and reverse proxies.
import { createServer } from "node:net";
import type { CheckView } from "../../plugins/dashboard/index.ts";
import { isLoopback, loopbackNetworks } from "../../plugins/http/index.ts";
import { createCheck, listOf, type Survey } from "./survey.ts";

/** Checks the listeners, the allowed origins and the reverse proxies. */
export async function networkChecks(found: Survey) {
  const checks = [await port(found), publicBind(found), origins(found), proxies(found)];
  return [...checks, upgrade(found), await proxyHeader(found)];
}

/** A client that can send the header itself needs only the secret of the proxy. */
async function proxyHeader({ running }: Survey): Promise<CheckView | undefined> {
  const { result = "off", paths = [] } = (await running?.proxyHeader?.()) ?? {};
  if (result === "off") return undefined;
  const own = createCheck("proxy-header", "The proxy removes the header of its sign-in");
  if (result === "stripped") return own.ok("A header that a client sends does not arrive.");
  if (result === "unreachable")
    return own.warning(
      "The public URL does not answer, so the header of proxy_sign_in was not checked.",
      "set gateway.public_url in config.json",
    );
  const fix =
    "let the proxy set or remove the header of proxy_sign_in in every request " +
    "(docs/security.md#sign-in-by-a-proxy)";
  const at = paths.join(", ");
  if (result === "arrived")
    return own.warning(
      `A header that a client sends through the public URL arrives here, at ${at}.`,
      fix,
    );
  return own.failed(
    `Any client can sign in as an owner: the proxy adds its secret to the header of a client, ` +
      `at ${at}.`,
    fix,
  );
}

async function port({ running, launcher }: Survey): Promise<CheckView> {
  const own = createCheck("port", "The port is available");
  if (running) {
    const where = running.addresses.map(({ href }) => href).join(", ");
    return own.ok(`The launcher listens on ${where || "its host's server"}.`);
  }
  const wanted = Number(launcher["port"] ?? 18_800);
  const code = await tryPort(wanted, String(launcher["host"] ?? "127.0.0.1"));
  if (code === undefined) return own.ok(`Port ${wanted} is free; the launcher is not running.`);
  return own.failed(`The launcher cannot listen on port ${wanted}: ${code}.`, "doorward -port N");
}

function tryPort(wanted: number, host: string): Promise<string | undefined> {
  return new Promise((done) => {
    const server = createServer();
    server.once("error", ({ code }: NodeJS.ErrnoException) => done(code ?? "unknown"));
    server.listen({ port: wanted, host }, () => server.close(() => done(undefined)));
  });
}

function publicBind({ running, launcher }: Survey): CheckView {
  const own = createCheck("public-without-tls", "Other machines connect only with TLS");
  const hosts = running?.addresses.map(({ hostname }) => hostname) ?? [
    String(launcher["host"] ?? "127.0.0.1"),
  ];
  const open = hosts.some((host) => !isLoopback(host)) || (!running && launcher["public"] === true);
  const tls =
    running?.addresses.some(({ protocol }) => protocol === "https:") ??
    launcher["tls"] !== undefined;
  if (!open) return own.ok("The launcher listens on this machine only.");
  if (tls) return own.ok("Connections from other machines are encrypted.");
  return own.warning(
    "Other machines connect without encryption, so the network can read tokens.",
    'set "tls" in launcher-config.json, or put a reverse proxy with https in front ' +
      "(docs/deploy.md)",
  );
}

function origins({ pico }: Survey): CheckView {
  const own = createCheck("origins", "Origins that may use the channel");
  const allowed = listOf(pico["allow_origins"]);
  if (allowed.length === 0) return own.ok("Any page with the token (allow_origins is empty).");
  if (allowed.includes("*")) {
    return own.warning(
      'Any page with the token: "*" means the same as an empty list.',
      "name the origins",
    );
  }
  return own.ok(`Pages of ${allowed.join(", ")}.`);
}

function proxies({ launcher, running }: Survey): CheckView {
  const own = createCheck("proxy", "The reverse proxy is trusted and forwards all headers");
  const trusted = listOf(launcher["trusted_proxies"]);
  const seen = running?.forwarded;
  if (seen && (seen.ignored || trusted.length === 0)) {
    return own.warning(
      `A proxy at ${seen.from} sends X-Forwarded headers that are ignored, ` +
        "so all its clients have the same address.",
      `add "${seen.from}" to "trusted_proxies" in launcher-config.json`,
    );
  }
  if (seen && !seen.host) {
    return own.warning(
      "The proxy does not send X-Forwarded-Proto and the original Host.",
      "proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto $scheme; " +
        "(docs/deploy.md)",
    );
  }
  if (trusted.length === 0) return own.ok("No proxy is configured or in use.");
  const [loopback] = loopbackNetworks(trusted);
  if (loopback !== undefined) {
    return own.warning(
      `"trusted_proxies" contains ${loopback}: any program on this machine can set the client ` +
        "address of its requests, and so evade the limit on wrong tokens.",
      "let the proxy connect from an address of its own (docs/deploy.md), or accept the risk " +
        "on a machine that runs only your programs",
    );
  }
  return own.ok(`Trusted: ${trusted.join(", ")}.`);
}

/** Only a page of the dashboard can test the path through its own proxies. */
function upgrade({ running }: Survey): CheckView | undefined {
  if (running?.upgrade === undefined) return undefined;
  const own = createCheck("proxy-upgrade", "WebSockets pass through the proxy");
  if (running.upgrade) return own.ok("This page opened a WebSocket to its own address.");
  const { rejection } = running;
  // Without `Upgrade`, the handshake arrives as a plain request.
  if (rejection && rejection.code !== "upgrade_required") {
    const { code, title, fix } = rejection;
    return own.failed(
      `The WebSocket of this page arrived, but the channel rejected it (${code}): ${title}.`,
      fix ?? `look up "${code}" in docs/errors.md`,
    );
  }
  return own.failed(
    "This page could not open a WebSocket to its own address: a proxy drops the header Upgrade.",
    "proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; " +
      "(docs/deploy.md)",
  );
}
