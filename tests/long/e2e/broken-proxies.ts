/* Configurations of real proxies with one fault each, as people write them. Each is made from the
 * documented one, and names the check that must find it and the line that the check must name. */
import type { Chain } from "../../plugins/http/certificate.ts";
import { exchange } from "../../e2e/proxies.ts";

export type ProxyName = "nginx" | "Caddy" | "HAProxy";

export interface BrokenProxy {
  readonly proxy: ProxyName;
  readonly fault: string;
  readonly change?: (text: string) => string;
  /** @defaultValue the certificate and the intermediate one */
  readonly certificate?: (chain: (address?: string, days?: number) => Chain) => Chain;
  /** Path below which the proxy serves. @defaultValue none */
  readonly path?: string;
  /** The http port of the redirect is not open. */
  readonly withoutRedirect?: true;
  /** Id of the check that must not pass. */
  readonly check: string;
  /** Matches a part of its fix. */
  readonly line: RegExp;
}

const without =
  (...lines: readonly RegExp[]) =>
  (text: string): string =>
    lines.reduce((left, line) => {
      exchange(left, new RegExp(line.source, "m"), "");
      return left.replaceAll(new RegExp(line.source, "gm"), "");
    }, text);
const instead =
  (line: RegExp, by: string) =>
  (text: string): string => {
    exchange(text, new RegExp(line.source, "m"), by);
    return text.replaceAll(new RegExp(line.source, "gm"), by);
  };
/** Adds lines to the location of nginx. */
const inLocation = (lines: string) => instead(/^ +proxy_buffering off;/, `        ${lines}`);
/** Puts a block after the address of the reverse proxy of Caddy. */
const inReverseProxy = (lines: string) => (text: string) =>
  text.replaceAll(/reverse_proxy (127\.0\.0\.1:\d+)$/gm, `reverse_proxy $1 {\n${lines}\n}`);
const inSite = (lines: string) => instead(/^\trequest_header -Remote-User$/, lines);
/** Adds lines to the frontend of HAProxy that serves. */
const atFrontend = (lines: string) => instead(/^ +default_backend/, `    ${lines}\n$&`);

const leafOnly = (chain: Chain): Chain => ({ ...chain, intermediate: "" });

const nginx: readonly Omit<BrokenProxy, "proxy">[] = [
  {
    fault: "accepts small bodies only",
    change: without(/^ +client_max_body_size .*$/),
    check: "public-body",
    line: /client_max_body_size 2048m;/,
  },
  {
    fault: "forwards no Upgrade",
    change: without(/^ +proxy_set_header (?:Upgrade|Connection) .*$/),
    check: "public-websocket",
    line: /proxy_set_header Upgrade \$http_upgrade;/,
  },
  {
    fault: "forwards Upgrade without Connection",
    change: without(/^ +proxy_set_header Connection .*$/),
    check: "public-websocket",
    line: /proxy_set_header Connection \$doorward_connection;/,
  },
  {
    fault: "buffers responses",
    change: inLocation("proxy_buffering on; proxy_ignore_headers X-Accel-Buffering;"),
    check: "public-stream",
    line: /proxy_buffering off;/,
  },
  {
    fault: "ends silent connections soon",
    change: instead(/proxy_read_timeout 300s;/, "proxy_read_timeout 2s;"),
    check: "public-websocket-silence",
    line: /proxy_read_timeout 300s;/,
  },
  {
    fault: "ends silent streams soon",
    change: instead(/proxy_read_timeout 300s;/, "proxy_read_timeout 2s;"),
    check: "public-stream-silence",
    line: /proxy_read_timeout 300s;/,
  },
  {
    fault: "names no client address",
    change: without(/^ +proxy_set_header X-Forwarded-For .*$/),
    check: "public-client-address",
    line: /proxy_set_header X-Forwarded-For \$remote_addr;/,
  },
  {
    fault: "forwards the client address that visitors claim",
    change: instead(/X-Forwarded-For +\$remote_addr/, "X-Forwarded-For $http_x_forwarded_for"),
    check: "public-client-address",
    line: /proxy_set_header X-Forwarded-For \$remote_addr;/,
  },
  {
    fault: "names no scheme",
    change: without(/^ +proxy_set_header X-Forwarded-Proto .*$/),
    check: "public-scheme",
    line: /proxy_set_header X-Forwarded-Proto \$scheme;/,
  },
  {
    fault: "replaces the host",
    change: without(/^ +proxy_set_header (?:Host|X-Forwarded-Host) .*$/),
    check: "public-host",
    line: /proxy_set_header Host \$http_host;/,
  },
  {
    fault: "loses the port of the host",
    change: instead(/\$http_host/, "$host"),
    check: "public-host",
    line: /proxy_set_header Host \$http_host;/,
  },
  {
    fault: "removes the path",
    path: "/doorward",
    change: instead(/proxy_pass (http:\/\/127\.0\.0\.1:\d+);/, "proxy_pass $1/;"),
    check: "public-path",
    line: /proxy_pass http:\/\/[\d.:]+;/,
  },
  {
    fault: "forwards names that visitors claim",
    change: without(/^ +proxy_set_header (?:Remote-User|X-Forwarded-User) .*$/),
    check: "public-identity",
    line: /proxy_set_header Remote-User "";/,
  },
  {
    fault: "serves pages over http",
    withoutRedirect: true,
    check: "public-redirect",
    line: /return 301 https:\/\/\$host\$request_uri;/,
  },
  {
    fault: "has an expired certificate",
    certificate: (chain) => chain("127.0.0.1", -2),
    check: "public-certificate",
    line: /ssl_certificate/,
  },
  {
    fault: "has a certificate that expires soon",
    certificate: (chain) => chain("127.0.0.1", 3),
    check: "public-certificate",
    line: /renew/i,
  },
  {
    fault: "has the certificate of another name",
    certificate: (chain) => chain("127.0.0.9"),
    check: "public-certificate",
    line: /ssl_certificate/,
  },
  {
    fault: "sends no intermediate certificate",
    certificate: (chain) => leafOnly(chain()),
    check: "public-certificate",
    line: /ssl_certificate .*fullchain/,
  },
  {
    fault: "removes Range",
    change: inLocation('proxy_set_header Range "";'),
    check: "public-range",
    line: /proxy_set_header Range/,
  },
  {
    fault: "changes the flags of cookies",
    change: inLocation("proxy_cookie_flags ~ nosecure nohttponly;"),
    check: "public-cookies",
    line: /proxy_cookie_flags/,
  },
  {
    fault: "removes Authorization",
    change: inLocation('proxy_set_header Authorization "";'),
    check: "public-headers",
    line: /proxy_set_header Authorization/,
  },
  {
    fault: "compresses streams",
    change: inLocation(
      "proxy_buffering on; proxy_ignore_headers X-Accel-Buffering; gzip on; gzip_types *;",
    ),
    check: "public-stream",
    line: /gzip off;/,
  },
  {
    fault: "serves the channel from elsewhere",
    change: (text) =>
      text.replaceAll(/^ +location \/ \{/gm, "    location /pico/ { return 404; }\n$&"),
    check: "public-channel",
    line: /location \//,
  },
];

const caddy: readonly Omit<BrokenProxy, "proxy">[] = [
  {
    fault: "accepts small bodies only",
    change: inSite("\trequest_body {\n\t\tmax_size 1MB\n\t}"),
    check: "public-body",
    line: /request_body/,
  },
  {
    fault: "removes the path",
    path: "/doorward",
    change: instead(/handle (\/doorward\/\*)/, "handle_path $1"),
    check: "public-path",
    line: /handle \/doorward\/\*/,
  },
  {
    fault: "collects responses",
    change: inReverseProxy("\tflush_interval 5s\n\tbuffer_responses\n\tmax_buffer_size 64KB"),
    check: "public-stream",
    line: /flush_interval -1/,
  },
  {
    fault: "forwards no Upgrade",
    change: inReverseProxy("\theader_up -Upgrade\n\theader_up -Connection"),
    check: "public-websocket",
    line: /header_up/,
  },
  {
    fault: "ends WebSockets soon",
    change: inReverseProxy("\ttransport http {\n\t\tread_timeout 2s\n\t}"),
    check: "public-websocket-silence",
    line: /read_timeout/,
  },
  {
    fault: "ends silent streams soon",
    change: inReverseProxy("\ttransport http {\n\t\tread_timeout 2s\n\t}"),
    check: "public-stream-silence",
    line: /read_timeout/,
  },
  {
    fault: "replaces the host",
    change: inReverseProxy("\theader_up Host {upstream_hostport}\n\theader_up -X-Forwarded-Host"),
    check: "public-host",
    line: /header_up/,
  },
  {
    fault: "names no scheme",
    change: inReverseProxy("\theader_up -X-Forwarded-Proto"),
    check: "public-scheme",
    line: /header_up -X-Forwarded-Proto/,
  },
  {
    fault: "trusts the headers of every visitor",
    change: inReverseProxy("\ttrusted_proxies 0.0.0.0/0"),
    check: "public-host",
    line: /trusted_proxies/,
  },
  {
    fault: "changes the flags of cookies",
    change: inReverseProxy('\theader_down Set-Cookie "; HttpOnly" ""'),
    check: "public-cookies",
    line: /header_down/,
  },
];

const haproxy: readonly Omit<BrokenProxy, "proxy">[] = [
  {
    fault: "ends WebSockets soon",
    change: instead(/timeout tunnel +300s/, "timeout tunnel 2s"),
    check: "public-websocket-silence",
    line: /timeout tunnel\s+300s/,
  },
  {
    fault: "ends silent streams soon",
    change: instead(/timeout server +300s/, "timeout server 2s"),
    check: "public-stream-silence",
    line: /timeout server\s+300s/,
  },
  {
    fault: "accepts small bodies only",
    change: atFrontend(
      "http-request deny deny_status 413 if { req.hdr(content-length) -m int gt 1048576 }",
    ),
    check: "public-body",
    line: /http-request deny/,
  },
  {
    fault: "forwards the host that visitors claim",
    change: without(/^ +http-request set-header X-Forwarded-Host .*$/),
    check: "public-host",
    line: /http-request set-header X-Forwarded-Host\s+%\[req\.hdr\(Host\)\]/,
  },
  {
    fault: "names no client address",
    change: without(/^ +http-request set-header X-Forwarded-For .*$/),
    check: "public-client-address",
    line: /http-request set-header X-Forwarded-For\s+%\[src\]/,
  },
  {
    fault: "removes the path",
    path: "/doorward",
    change: atFrontend("http-request replace-path /doorward(/.*) \\1"),
    check: "public-path",
    line: /replace-path/,
  },
  {
    fault: "compresses streams",
    change: atFrontend(
      "compression algo gzip\n    compression type text/event-stream application/json",
    ),
    check: "public-stream",
    line: /compression type/,
  },
  {
    fault: "removes Range",
    change: atFrontend("http-request del-header Range"),
    check: "public-range",
    line: /del-header Range/,
  },
  {
    // Against the smuggling of requests inside h2c, and too much of it.
    fault: "denies upgrades over HTTP/2",
    change: (text) =>
      atFrontend("http-request deny if { fc_http_major 2 } { hdr(Upgrade) -m found }")(
        text.replace(/ ssl crt (\S+)/, " ssl crt $1 alpn h2,http/1.1"),
      ),
    check: "public-http2",
    line: /h2-workaround-bogus-websocket-clients|alpn/,
  },
  {
    fault: "sends no intermediate certificate",
    certificate: (chain) => leafOnly(chain()),
    check: "public-certificate",
    line: /crt .*intermediate/,
  },
];

const of = (proxy: ProxyName, all: readonly Omit<BrokenProxy, "proxy">[]): BrokenProxy[] =>
  all.map((one) => ({ ...one, proxy }));

export const brokenProxies: readonly BrokenProxy[] = [
  ...of("nginx", nginx),
  ...of("Caddy", caddy),
  ...of("HAProxy", haproxy),
];
