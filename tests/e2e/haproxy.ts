import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { selfSigned } from "../plugins/http/certificate.ts";
import { findTool } from "../support/tools.ts";
import { freePort } from "./free-port.ts";
import { exchange, runProxy, same, type Certificate, type Proxy } from "./proxies.ts";

export const haproxy = findTool("haproxy");
const documented = new URL("../../docs/deploy/haproxy.cfg", import.meta.url);

/**
 * Starts HAProxy with docs/deploy/haproxy.cfg, with and without HTTPS.
 *
 * @param change - Changes the documented configuration.
 */
export async function startHaproxy(
  port: string,
  path: string,
  change = same,
  { cert, key }: Certificate = selfSigned(),
): Promise<Proxy> {
  const folder = await mkdtemp(join(tmpdir(), "doorward-haproxy-"));
  const pem = join(folder, "both.pem");
  await writeFile(pem, cert + key, { mode: 0o600 });
  const [first, second, third] = await Promise.all([freePort(), freePort(), freePort()]);
  const lines: [RegExp, string][] = [
    [
      /bind :443 ssl crt \S+/,
      `bind 127.0.0.1:${first} ssl crt ${pem}\n    bind 127.0.0.1:${second}`,
    ],
    [/127\.0\.0\.1:18800/, `127.0.0.1:${port}`],
    [/bind :80$/m, `bind 127.0.0.1:${third}`],
    [
      /redirect scheme https code 301/,
      `redirect location https://127.0.0.1:${first}%[capture.req.uri] code 301`,
    ],
  ];
  const text = lines.reduce(
    (before, [line, by]) => exchange(before, line, by),
    await readFile(documented, "utf8"),
  );
  const config = join(folder, "haproxy.cfg");
  await writeFile(config, change(text));
  const encrypted = new URL(`https://127.0.0.1:${first}${path}/`);
  const plain = new URL(`http://127.0.0.1:${second}${path}/`);
  const words = [haproxy!, "-db", "-q", "-f", config] as const;
  return {
    encrypted,
    plain,
    redirectPort: third,
    ...(await runProxy(words, folder, [plain, encrypted])),
  };
}
