// The configuration of Caddy for one launcher, in a file of its own that the Caddyfile imports.
import { isIP } from "node:net";

/** Name of the file next to the Caddyfile. */
export const siteFile = "doorward.caddy";
const firstLine = "# Written by doorward expose. A later run replaces this file.";

interface Site {
  /** Host name, with a port if it is not 443. */
  readonly address: string;
  /** `host:port` of the launcher. */
  readonly upstream: string;
  /** Path before all paths of the launcher; empty without one. */
  readonly basePath: string;
  /** Certificates come from the authority of Caddy itself. */
  readonly isInternal: boolean;
}

const hostPattern = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9-]{1,63})*$/;

/** @returns Name and port of `NAME` or `NAME:PORT`; undefined if it is not a host name. */
export function parseAddress(text: string): { name: string; port: number | undefined } | undefined {
  const [, name = "", port] = /^([^:]*)(?::(\d{1,5}))?$/.exec(text.toLowerCase()) ?? [];
  const isPort = port === undefined || (Number(port) >= 1 && Number(port) <= 65_535);
  if (!isPort || isIP(name) !== 0 || !hostPattern.test(name) || /^\d+$/.test(name))
    return undefined;
  return { name, port: port === undefined ? undefined : Number(port) };
}

/** @returns The text of the imported file. The names of people are removed as in docs/deploy. */
export function siteText({ address, upstream, basePath, isInternal }: Site): string {
  const proxy = `reverse_proxy ${upstream}`;
  const serve =
    basePath === ""
      ? [proxy]
      : [`@doorward path ${basePath} ${basePath}/*`, "handle @doorward {", `\t${proxy}`, "}"];
  const lines = [
    ...(isInternal ? ["tls internal"] : []),
    'header Strict-Transport-Security "max-age=31536000"',
    "# Names of people, which only a proxy may write.",
    "request_header -Remote-User",
    "request_header -X-Forwarded-User",
    "request_header -X-Forwarded-Email",
    "request_header -X-Auth-Request-User",
    ...serve,
  ];
  return `${firstLine}\n${address} {\n${lines.map((line) => `\t${line}\n`).join("")}}\n`;
}

/** Whether this command wrote the text. */
export const isOwnSite = (text: string): boolean => text.startsWith(firstLine);

/** Whether a Caddyfile contains nothing but comments and white space. */
export const isBare = (text: string): boolean =>
  text.split("\n").every((line) => /^\s*(?:#|$)/.test(line));

/** Whether a Caddyfile imports the file of this command, by its name or a pattern of its folder. */
export function importsSite(text: string, folder: string): boolean {
  const names = [siteFile, `./${siteFile}`, `${folder}/${siteFile}`];
  const patterns = ["*.caddy", "*", `${folder}/*.caddy`, `${folder}/*`];
  return text.split("\n").some((line) => {
    const [, target = ""] = /^\s*import\s+(\S+)\s*$/.exec(line) ?? [];
    return names.includes(target) || patterns.includes(target);
  });
}
