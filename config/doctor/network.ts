import { createServer } from "node:net";
import type { CheckView } from "../../plugins/dashboard/index.ts";
import type { Survey } from "./survey.ts";

const isLoopback = (host: string): boolean => /^(localhost|127\.|\[?::1)/.test(host);
const listOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

/** Where it listens, who may come, and what stands in front of it. */
export async function networkChecks(found: Survey): Promise<CheckView[]> {
  return [await port(found), publicBind(found), origins(found), proxies(found)];
}

async function port({ running, launcher }: Survey): Promise<CheckView> {
  const base = { id: "port", title: "The port is free, or ours" };
  if (running) {
    const where = running.addresses.map(({ href }) => href).join(", ");
    return { ...base, result: "ok", reason: `The launcher listens on ${where || "its host's server"}.` };
  }
  const wanted = Number(launcher["port"] ?? 18_800);
  const code = await tryPort(wanted, String(launcher["host"] ?? "127.0.0.1"));
  if (code === undefined) return { ...base, result: "ok", reason: `Port ${wanted} is free; the launcher does not run.` };
  return { ...base, result: "failed", reason: `Port ${wanted} cannot be had: ${code}.`, fix: "doorward -port N" };
}

function tryPort(wanted: number, host: string): Promise<string | undefined> {
  return new Promise((done) => {
    const server = createServer();
    server.once("error", ({ code }: NodeJS.ErrnoException) => done(code ?? "unknown"));
    server.listen({ port: wanted, host }, () => server.close(() => done(undefined)));
  });
}

function publicBind({ running, launcher }: Survey): CheckView {
  const base = { id: "public-without-tls", title: "Reached from other machines only by https" };
  const hosts = running?.addresses.map(({ hostname }) => hostname) ?? [String(launcher["host"] ?? "127.0.0.1")];
  const open = hosts.some((host) => !isLoopback(host)) || (!running && launcher["public"] === true);
  const tls = running?.addresses.some(({ protocol }) => protocol === "https:") ?? launcher["tls"] !== undefined;
  if (!open) return { ...base, result: "ok", reason: "It listens on this machine only." };
  if (tls) return { ...base, result: "ok", reason: "Other machines reach it encrypted." };
  return {
    ...base, result: "warning", reason: "Other machines reach it without encryption: tokens can be read on the way.",
    fix: 'set "tls" in launcher-config.json, or a reverse proxy with https in front (docs/deploy.md)',
  };
}

function origins({ pico }: Survey): CheckView {
  const base = { id: "origins", title: "Whose pages may use the channel" };
  const allowed = listOf(pico["allow_origins"]);
  if (allowed.length === 0) return { ...base, result: "ok", reason: "Every page that knows the token (allow_origins is empty)." };
  if (allowed.includes("*")) {
    return { ...base, result: "warning", reason: 'Every page that knows the token: "*" says the same as an empty list.', fix: "name the origins" };
  }
  return { ...base, result: "ok", reason: `Pages of ${allowed.join(", ")}.` };
}

function proxies({ launcher, running }: Survey): CheckView {
  const base = { id: "proxy", title: "A reverse proxy is trusted and passes everything on" };
  const trusted = listOf(launcher["trusted_proxies"]);
  const seen = running?.forwarded;
  if (seen?.ignored) {
    return {
      ...base, result: "warning",
      reason: `A proxy at ${seen.from} sends X-Forwarded headers that are ignored: all its visitors look like one.`,
      fix: `add "${seen.from}" to "trusted_proxies" in launcher-config.json`,
    };
  }
  if (seen && !seen.host) {
    return {
      ...base, result: "warning", reason: "The proxy does not send X-Forwarded-Proto and the original Host.",
      fix: "proxy_set_header Host $host; proxy_set_header X-Forwarded-Proto $scheme; (docs/deploy.md)",
    };
  }
  if (trusted.length === 0) return { ...base, result: "ok", reason: "None is configured, and none was seen." };
  return { ...base, result: "ok", reason: `Trusted: ${trusted.join(", ")}.` };
}
