import { createServer } from "node:net";
import type { CheckView } from "../../plugins/dashboard/index.ts";
import { isLoopback, loopbackNetworks } from "../../plugins/http/index.ts";
import type { Survey } from "./survey.ts";
import { createCheck } from "./survey.ts";

/** From a file, or as an environment variable has it. */
function listOf(value: unknown): string[] {
  const items =
    typeof value === "string" ? value.split(",") : Array.isArray(value) ? value.map(String) : [];
  return items.map((item) => item.trim()).filter((item) => item !== "");
}

/** Where it listens, who may come, and what stands in front of it. */
export async function networkChecks(found: Survey): Promise<CheckView[]> {
  return [await port(found), publicBind(found), origins(found), proxies(found), ...upgrades(found)];
}

async function port({ running, launcher }: Survey): Promise<CheckView> {
  const own = createCheck("port", "The port is free, or ours");
  if (running) {
    const where = running.addresses.map(({ href }) => href).join(", ");
    return own.ok(`The launcher listens on ${where || "its host's server"}.`);
  }
  const wanted = Number(launcher["port"] ?? 18_800);
  const code = await tryPort(wanted, String(launcher["host"] ?? "127.0.0.1"));
  if (code === undefined) return own.ok(`Port ${wanted} is free; the launcher does not run.`);
  return own.failed(`Port ${wanted} cannot be had: ${code}.`, "doorward -port N");
}

function tryPort(wanted: number, host: string): Promise<string | undefined> {
  return new Promise((done) => {
    const server = createServer();
    server.once("error", ({ code }: NodeJS.ErrnoException) => done(code ?? "unknown"));
    server.listen({ port: wanted, host }, () => server.close(() => done(undefined)));
  });
}

function publicBind({ running, launcher }: Survey): CheckView {
  const own = createCheck("public-without-tls", "Reached from other machines only by https");
  const hosts = running?.addresses.map(({ hostname }) => hostname) ?? [
    String(launcher["host"] ?? "127.0.0.1"),
  ];
  const open = hosts.some((host) => !isLoopback(host)) || (!running && launcher["public"] === true);
  const tls =
    running?.addresses.some(({ protocol }) => protocol === "https:") ??
    launcher["tls"] !== undefined;
  if (!open) return own.ok("It listens on this machine only.");
  if (tls) return own.ok("Other machines reach it encrypted.");
  return own.warning(
    "Other machines reach it without encryption: tokens can be read on the way.",
    'set "tls" in launcher-config.json, or a reverse proxy with https in front (docs/deploy.md)',
  );
}

function origins({ pico }: Survey): CheckView {
  const own = createCheck("origins", "Whose pages may use the channel");
  const allowed = listOf(pico["allow_origins"]);
  if (allowed.length === 0)
    return own.ok("Every page that knows the token (allow_origins is empty).");
  if (allowed.includes("*")) {
    return own.warning(
      'Every page that knows the token: "*" says the same as an empty list.',
      "name the origins",
    );
  }
  return own.ok(`Pages of ${allowed.join(", ")}.`);
}

function proxies({ launcher, running }: Survey): CheckView {
  const own = createCheck("proxy", "A reverse proxy is trusted and passes everything on");
  const trusted = listOf(launcher["trusted_proxies"]);
  const seen = running?.forwarded;
  if (seen && (seen.ignored || trusted.length === 0)) {
    return own.warning(
      `A proxy at ${seen.from} sends X-Forwarded headers that are ignored: all its visitors look like one.`,
      `add "${seen.from}" to "trusted_proxies" in launcher-config.json`,
    );
  }
  if (seen && !seen.host) {
    return own.warning(
      "The proxy does not send X-Forwarded-Proto and the original Host.",
      "proxy_set_header Host $host; proxy_set_header X-Forwarded-Proto $scheme; (docs/deploy.md)",
    );
  }
  if (trusted.length === 0) return own.ok("None is configured, and none was seen.");
  const [loopback] = loopbackNetworks(trusted);
  if (loopback !== undefined) {
    return own.warning(
      `"trusted_proxies" contains ${loopback}: any program on this machine can set the client ` +
        "address of its requests, and so evade the limit on wrong tokens.",
      "let the proxy connect from an address of its own (docs/deploy.md), or accept the risk on a " +
        "machine that runs only your programs",
    );
  }
  return own.ok(`Trusted: ${trusted.join(", ")}.`);
}

/** Only a page can try the way it came itself. */
function upgrades({ running }: Survey): CheckView[] {
  if (running?.upgrade === undefined) return [];
  const own = createCheck("proxy-upgrade", "WebSockets come through as this page does");
  if (running.upgrade) return [own.ok("This page could open one to its own address.")];
  return [
    own.failed(
      "This page could not open one to its own address: something between drops the header Upgrade.",
      "proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; (docs/deploy.md)",
    ),
  ];
}
