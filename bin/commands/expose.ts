// `doorward expose`: shows, or sets up, the way from outside to the running launcher.
import { spawnSync } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { connect } from "node:tls";
import {
  importsSite,
  isBare,
  isOwnSite,
  parseAddress,
  siteFile,
  siteText,
} from "../../config/expose/caddy.ts";
import { cloudflareLines, tailscaleLines } from "../../config/expose/others.ts";
import { describeErrno } from "../../lib/files/index.ts";
import { sanitizeLine } from "../client/text.ts";
import { UsageError, exitCodes, printJson, type CommandContext } from "./command.ts";
import { askLauncher, reportNotRunning, reportRejected } from "./control-client.ts";
import { checkPublicUrl } from "./public-check.ts";

/** Facts of the launcher for a proxy. */
interface Access {
  readonly addresses: readonly string[];
  readonly basePath: string;
}

const usage = "Name one way: doorward expose caddy NAME, tailscale or cloudflare";
const defaultCaddyfile = "/etc/caddy/Caddyfile";
const caddyTimeoutMs = 60_000;

export async function expose(context: CommandContext): Promise<number> {
  const [way = "", name, ...others] = context.words;
  const isKnown = ["caddy", "tailscale", "cloudflare"].includes(way);
  if (!isKnown || others.length > 0) throw new UsageError(usage);
  const stray = way === "caddy" ? undefined : caddyOptions.find((one) => context.values[one]);
  if (stray !== undefined) throw new UsageError(`"-${stray}" needs caddy`);
  if (way === "caddy" && name === undefined)
    throw new UsageError("Name the host: doorward expose caddy door.example.org");
  const address = name === undefined ? undefined : parseAddress(name);
  if (name !== undefined && !address)
    throw new UsageError(`"${name}" is not a host name such as door.example.org`);
  const answer = await askLauncher<Access>(context, "GET", "access");
  if (!answer) return reportNotRunning(context);
  if (answer.status !== 200) return reportRejected(context, answer.body);
  const upstream = upstreamOf(answer.body);
  if (way === "caddy" && address)
    return exposeWithCaddy(context, { ...address, upstream, basePath: answer.body.basePath });
  const lines = (way === "tailscale" ? tailscaleLines : cloudflareLines)({
    upstream,
    name: address?.name,
  });
  if (context.json) printJson(context, { way, lines });
  else context.out(`${lines.map((line) => context.hinted(line)).join("\n")}\n`);
  return exitCodes.done;
}
const caddyOptions = ["apply", "internal", "caddyfile", "quick", "ca"];

/** @returns The address at which a proxy of this machine reaches the launcher. */
function upstreamOf({ addresses }: Access): string {
  const [first] = addresses;
  if (first === undefined) throw new Error("The launcher listens on no port of its own.");
  const { host, protocol } = new URL(first);
  if (protocol === "https:")
    throw new Error(
      'The launcher serves https itself ("tls" in launcher-config.json). Remove that setting ' +
        "before a proxy takes over, or use it without a proxy.",
    );
  return host.replace(/^localhost:/, "127.0.0.1:");
}

interface CaddyPlan {
  readonly name: string;
  readonly port: number | undefined;
  readonly upstream: string;
  readonly basePath: string;
}

/** Files and settings that the command writes. */
interface Steps {
  readonly caddyfile: string;
  readonly site: { readonly path: string; readonly text: string };
  readonly url: string;
  /** The Caddyfile is absent or contains comments only, so a line can be added to it. */
  readonly addsImport: boolean;
}

async function exposeWithCaddy(context: CommandContext, plan: CaddyPlan): Promise<number> {
  requireCaddy();
  const steps = await planSteps(context, plan);
  if (context.values["apply"] !== true) return show(context, plan, steps);
  await applyToCaddy(steps);
  context.say(`Caddy uses ${steps.site.path}\n`);
  const change = {
    publicUrl: steps.url,
    trustedProxy: new URL(`http://${plan.upstream}`).hostname.replace(/^\[(.*)\]$/, "$1"),
    allowedHost: plan.name,
  };
  const changed = await askLauncher(context, "PUT", "access", change);
  if (!changed) return reportNotRunning(context);
  if (changed.status !== 200) return reportRejected(context, changed.body);
  context.say("The settings of the launcher name the URL and trust the proxy\n");
  await certificateOf(plan, (text) => context.say(text));
  return checkPublicUrl(context, [steps.url]);
}

function requireCaddy(): void {
  const { error } = spawnSync("caddy", ["version"], { timeout: caddyTimeoutMs });
  if (error)
    throw new Error(
      "Caddy is not installed. Install it (Debian: apt install caddy), then run this " +
        "command again.",
    );
}

async function planSteps({ values }: CommandContext, plan: CaddyPlan): Promise<Steps> {
  const caddyfile = resolve(String(values["caddyfile"] ?? defaultCaddyfile));
  const folder = dirname(caddyfile);
  const host = plan.port === undefined ? plan.name : `${plan.name}:${plan.port}`;
  const path = join(folder, siteFile);
  const present = await textOf(path);
  if (present !== undefined && !isOwnSite(present))
    throw new Error(`${path} was not written by this command. Move it away first.`);
  const main = (await textOf(caddyfile)) ?? "";
  const addsImport = isBare(main);
  if (!addsImport && !importsSite(main, folder))
    throw new Error(
      `${caddyfile} has sites of its own, which Doorward does not change. Add this line ` +
        `at its end, ` +
        `then run this command again: import ${siteFile}`,
    );
  const site = { address: host, upstream: plan.upstream, basePath: plan.basePath };
  const text = siteText({ ...site, isInternal: values["internal"] === true });
  return { caddyfile, addsImport, url: `https://${host}${plan.basePath}`, site: { path, text } };
}

/** Reads a file. @returns Undefined if it does not exist. */
async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function show(context: CommandContext, plan: CaddyPlan, steps: Steps): number {
  const { caddyfile, site, url, addsImport } = steps;
  if (context.json) {
    printJson(context, {
      applied: false,
      url,
      file: site.path,
      text: site.text,
      caddyfile,
      addsImport,
    });
    return exitCodes.done;
  }
  const rows = [
    `It would write ${site.path}:`,
    ...site.text.trimEnd().split("\n"),
    ...(addsImport ? [`It would add the line "import ${siteFile}" to ${caddyfile}.`] : []),
    "It would reload Caddy, and set in the launcher:",
    `  gateway.public_url = ${url}`,
    `  launcher.trusted_proxies + ${plan.upstream.replace(/:\d+$/, "")}`,
    `  launcher.allowed_hosts + ${plan.name}`,
    "Then it would check the way in, as doorward doctor -public does. Nothing was changed.",
    `To do it: doorward expose caddy ${context.words[1]} -apply`,
  ];
  context.out(`${rows.map((row) => context.hinted(row)).join("\n")}\n`);
  return exitCodes.done;
}

/** Writes the files and lets Caddy use them. After an error, the files are as before. */
async function applyToCaddy({ caddyfile, site, addsImport }: Steps): Promise<void> {
  const before = new Map<string, string | undefined>();
  const write = async (path: string, text: string): Promise<void> => {
    before.set(path, await textOf(path));
    await writeFile(path, text).catch((error: NodeJS.ErrnoException) => {
      before.delete(path);
      throw unwritable(path, error);
    });
  };
  try {
    await write(site.path, site.text);
    if (addsImport)
      await write(caddyfile, `${(await textOf(caddyfile)) ?? ""}import ${siteFile}\n`);
    runCaddy("validate", caddyfile);
    runCaddy("reload", caddyfile);
  } catch (error) {
    for (const [path, text] of before)
      await (text === undefined ? rm(path, { force: true }) : writeFile(path, text));
    throw error;
  }
}

function unwritable(path: string, error: NodeJS.ErrnoException): Error {
  const isForbidden = error.code === "EACCES" || error.code === "EPERM";
  if (!isForbidden) return new Error(`${path}: ${describeErrno(error)}.`);
  return new Error(
    `You may not write ${path}. Give it to your user, then run this command again: ` +
      `sudo touch ${path} && sudo chown "$USER" ${path}`,
  );
}

/** @throws An error with the reason that Caddy names. */
function runCaddy(command: "validate" | "reload", caddyfile: string): void {
  const words = [command, "--adapter", "caddyfile", "--config", caddyfile];
  const { status, stderr, error } = spawnSync("caddy", words, {
    cwd: dirname(caddyfile),
    encoding: "utf8",
    timeout: caddyTimeoutMs,
  });
  if (status === 0 && !error) return;
  const reason = reasonOf(stderr ?? "") ?? error?.message ?? `exit code ${status}`;
  if (/connection refused/.test(reason))
    throw new Error(
      "Caddy does not run. Start it (sudo systemctl enable --now caddy), then run this " +
        "command again. " +
        "Nothing was changed.",
    );
  if (/address already in use/.test(reason))
    throw new Error(
      `Another program uses the port: ${reason}. Stop it, or name another port: NAME:8443. ` +
        "Nothing was changed.",
    );
  if (/ambiguous site definition/.test(reason))
    throw new Error(
      `Another site of ${caddyfile} has this name. Remove it first. Nothing was changed.`,
    );
  throw new Error(`Caddy rejects the configuration: ${reason}. Nothing was changed.`);
}

/** The last line of Caddy that is not JSON says why. */
function reasonOf(stderr: string): string | undefined {
  const lines = stderr.split("\n").filter((line) => line !== "" && !line.startsWith("{"));
  const last = lines.at(-1);
  return last === undefined ? undefined : sanitizeLine(last.replace(/^Error: /, "")).slice(0, 500);
}

const certificateWaitMs = 60_000;
const pauseMs = 500;

/** Waits until Caddy has a certificate. The check that follows names what is wrong otherwise. */
async function certificateOf(
  { name, port = 443 }: CaddyPlan,
  say: (text: string) => void,
): Promise<void> {
  const startedAt = performance.now();
  while (performance.now() - startedAt < certificateWaitMs) {
    if (await shakesHands(name, port)) return;
    say("Waiting for the certificate…\n");
    await new Promise((done) => setTimeout(done, pauseMs));
  }
}

function shakesHands(host: string, port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect({ host, port, servername: host, rejectUnauthorized: false });
    const finish = (isOpen: boolean): void => {
      socket.destroy();
      done(isOpen);
    };
    socket.setTimeout(certificateWaitMs, () => finish(false));
    socket.once("secureConnect", () => finish(true)).once("error", () => finish(false));
  });
}
