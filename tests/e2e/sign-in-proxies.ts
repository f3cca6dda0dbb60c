// Starts nginx and Caddy with the documented files of the sign-in by a proxy.
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { caddy } from "./caddy.ts";
import { freePort } from "./free-port.ts";
import { nginx } from "./nginx.ts";
import { exchange, runProxy, same } from "./proxies.ts";

/** The value of X-Doorward-Proxy. */
export const proxySecret = "s".repeat(43);

const documented = (name: string): Promise<string> =>
  readFile(new URL(`../../docs/deploy/${name}`, import.meta.url), "utf8");

/** Service -> its files, and the address that they name. */
const services = {
  Authelia: {
    nginx: "nginx-sign-in.conf",
    caddy: "Caddyfile.sign-in",
    address: "127.0.0.1:9091",
  },
  "oauth2-proxy": {
    nginx: "nginx-oauth2-proxy.conf",
    caddy: "Caddyfile.oauth2-proxy",
    address: "127.0.0.1:4180",
  },
} as const;

interface SignInTarget {
  /** Port of Doorward. */
  readonly port: number;
  /** Port of the service that signs people in. */
  readonly signIn: number;
  readonly service: keyof typeof services;
  /** Changes the file. @defaultValue as documented */
  readonly change?: (text: string) => string;
}

export interface SignInProxy extends AsyncDisposable {
  readonly url: URL;
}

function filled(text: string, { port, signIn, service, change = same }: SignInTarget): string {
  const { address } = services[service];
  return change(exchange(text, /SECRET/, proxySecret))
    .replaceAll("127.0.0.1:18800", `127.0.0.1:${port}`)
    .replaceAll(address, `127.0.0.1:${signIn}`);
}

async function startNginx(target: SignInTarget): Promise<SignInProxy> {
  const folder = await mkdtemp(join(tmpdir(), "doorward-sign-in-"));
  const own = await freePort();
  let text = filled(await documented(services[target.service].nginx), target);
  text = exchange(text, /listen 443 ssl;/, `listen 127.0.0.1:${own};`);
  text = text.replace(/^ +ssl_certificate.*\n/gm, "");
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  );
  const user = process.getuid?.() === 0 ? "user root;" : "";
  const main = `${user} daemon off; pid ${join(folder, "pid")}; error_log ${join(folder, "e")};`;
  const log = `access_log ${join(folder, "a")};`;
  const config = join(folder, "nginx.conf");
  await writeFile(config, `${main}\nevents {}\nhttp { ${temporary.join(" ")} ${log}\n${text}\n}\n`);
  const url = new URL(`http://127.0.0.1:${own}/`);
  const words = [nginx!, "-e", join(folder, "e"), "-c", config] as const;
  return { url, ...(await runProxy(words, folder, [url])) };
}

async function startCaddy(target: SignInTarget): Promise<SignInProxy> {
  const folder = await mkdtemp(join(tmpdir(), "doorward-sign-in-"));
  const own = await freePort();
  const text = filled(await documented(services[target.service].caddy), target);
  const site = exchange(text, /^door\.example\.org/m, `http://127.0.0.1:${own}`);
  const config = join(folder, "Caddyfile");
  const options = [
    "admin off",
    "auto_https off",
    `storage file_system ${folder}`,
    "servers {\n\t\tprotocols h1 h2 h2c\n\t}",
  ];
  await writeFile(config, `{\n\t${options.join("\n\t")}\n}\n${site}`);
  const url = new URL(`http://127.0.0.1:${own}/`);
  const words = [caddy!, "run", "--adapter", "caddyfile", "--config", config] as const;
  return { url, ...(await runProxy(words, folder, [url])) };
}

/** Name -> the installed program, and how it starts. */
export const signInProxies = {
  nginx: { program: nginx, start: startNginx },
  Caddy: { program: caddy, start: startCaddy },
} as const;
