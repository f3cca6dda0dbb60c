import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { selfSigned } from "../plugins/http/certificate.ts";
import { findTool } from "../support/tools.ts";
import { freePort } from "./free-port.ts";
import { exchange, runProxy, same, type Certificate, type Proxy } from "./proxies.ts";

export const nginx = findTool("nginx");
const documented = new URL("../../docs/deploy/nginx.conf", import.meta.url);

export interface Nginx extends Proxy {
  /** Proxy without the upgrade headers. */
  readonly withoutUpgrade: URL;
  /** Proxy without `X-Forwarded-Proto`. */
  readonly withoutScheme: URL;
}

/**
 * Starts nginx with docs/deploy/nginx.conf and its variants in front of `path` at `port`.
 *
 * @param change - Changes the configuration.
 */
export async function startNginx(
  port: string,
  path: string,
  change = same,
  { cert, key }: Certificate = selfSigned(),
): Promise<Nginx> {
  const folder = await mkdtemp(join(tmpdir(), "doorward-nginx-"));
  await writeFile(join(folder, "cert.pem"), cert);
  await writeFile(join(folder, "key.pem"), key, { mode: 0o600 });
  const text = await readFile(documented, "utf8");
  const [shared, redirect, documentedServer] = text.split(/^(?=server \{)/m) as [
    string,
    string,
    string,
  ];
  const changes: [RegExp, string][] = [
    [/door\.example\.org;/, "_;"],
    [/\/etc\/ssl\/\S+\.pem/, join(folder, "cert.pem")],
    [/\/etc\/ssl\/\S+\.key/, join(folder, "key.pem")],
    [/\/var\/log\/nginx\/doorward\.log/, join(folder, "access.log")],
    [/location \/ \{/, `location ${path}/ {`],
    [/127\.0\.0\.1:18800/, `127.0.0.1:${port}`],
  ];
  const server = changes.reduce(
    (before, [line, by]) => exchange(before, line, by),
    documentedServer,
  );
  const ports = await Promise.all([freePort(), freePort(), freePort(), freePort(), freePort()]);
  const redirects = exchange(
    exchange(redirect, /listen 80;/, `listen 127.0.0.1:${ports[4]};`),
    /https:\/\/\$host/,
    `https://$host:${ports[0]}`,
  );
  const at = (which: 0 | 1 | 2 | 3, from: string): string =>
    exchange(from, /listen 443/, `listen 127.0.0.1:${ports[which]}`);
  const url = (which: 0 | 1 | 2 | 3): URL =>
    new URL(`${which === 0 ? "https" : "http"}://127.0.0.1:${ports[which]}${path}/`);
  const plain = exchange(server, / ssl;\n/, ";\n").replace(/^ +ssl_certificate.*\n/gm, "");
  const servers = [
    at(0, server),
    at(1, plain),
    at(
      2,
      exchange(plain, /^ +proxy_set_header Upgrade .*\n +proxy_set_header Connection .*\n/m, ""),
    ),
    at(3, exchange(plain, /^ +proxy_set_header X-Forwarded-Proto .*\n/m, "")),
  ];
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  );
  await writeFile(
    join(folder, "nginx.conf"),
    [
      process.getuid?.() === 0 ? "user root;" : "",
      `daemon off; worker_processes 1; pid ${join(folder, "pid")}; error_log ${join(folder, "error.log")};`,
      "events { worker_connections 256; }",
      `http { ${temporary.join(" ")}`,
      change([shared, redirects, ...servers].join("\n")),
      "}",
      "",
    ].join("\n"),
  );
  const words = [nginx!, "-p", folder, "-c", join(folder, "nginx.conf")] as const;
  const running = await runProxy(words, folder, [url(0), url(1)]);
  return {
    encrypted: url(0),
    plain: url(1),
    redirectPort: ports[4],
    withoutUpgrade: url(2),
    withoutScheme: url(3),
    ...running,
  };
}
