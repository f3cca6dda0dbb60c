import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findTool } from "../support/tools.ts";
import { freePort } from "./free-port.ts";
import { exchange, runProxy, same, type Certificate, type Proxy } from "./proxies.ts";

export const caddy = findTool("caddy");
const documented = new URL("../../docs/deploy/Caddyfile", import.meta.url);

/**
 * Starts Caddy with docs/deploy/Caddyfile, and again without HTTPS.
 *
 * @param change - Changes the configuration.
 * @param certificate - Default: one of Caddy's own authority.
 */
export async function startCaddy(
  port: string,
  path: string,
  change = same,
  certificate?: Certificate,
): Promise<Proxy> {
  const folder = await mkdtemp(join(tmpdir(), "doorward-caddy-"));
  const [first, second, third] = await Promise.all([freePort(), freePort(), freePort()]);
  if (certificate) {
    await writeFile(join(folder, "cert.pem"), certificate.cert);
    await writeFile(join(folder, "key.pem"), certificate.key, { mode: 0o600 });
  }
  const tls = certificate
    ? `tls ${join(folder, "cert.pem")} ${join(folder, "key.pem")}`
    : "tls internal";
  const lines: [RegExp, string][] = [
    [/^door\.example\.org \{$/m, `https://127.0.0.1:${first} {\n\t${tls}`],
    [
      /^\treverse_proxy 127\.0\.0\.1:18800$/m,
      `\thandle ${path}/* {\n\t\treverse_proxy 127.0.0.1:${port}\n\t}`,
    ],
  ];
  const site = lines.reduce(
    (before, [line, by]) => exchange(before, line, by),
    await readFile(documented, "utf8"),
  );
  const withoutTls = site
    .replace(/^https:.*$/m, `http://127.0.0.1:${second} {`)
    .replace(`\t${tls}\n`, "");
  // Caddy adds this by itself for port 443.
  const redirect = `http://127.0.0.1:${third} {\n\tredir https://127.0.0.1:${first}{uri} 301\n}`;
  const options = [
    "admin off",
    "auto_https disable_redirects",
    "skip_install_trust",
    "default_sni 127.0.0.1",
    `storage file_system ${folder}`,
  ];
  const config = join(folder, "Caddyfile");
  const text = `{\n\t${options.join("\n\t")}\n}\n${change(site)}\n${change(withoutTls)}\n${redirect}`;
  await writeFile(config, text);
  const encrypted = new URL(`https://127.0.0.1:${first}${path}/`);
  const plain = new URL(`http://127.0.0.1:${second}${path}/`);
  const words = [caddy!, "run", "--adapter", "caddyfile", "--config", config] as const;
  return {
    encrypted,
    plain,
    redirectPort: third,
    ...(await runProxy(words, folder, [plain, encrypted])),
  };
}
