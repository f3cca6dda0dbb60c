// Names the line to change for each fault of a reverse proxy.

/** Proxies that the check recognises, with the name for people. */
export const proxyNames = {
  nginx: "nginx",
  caddy: "Caddy",
  traefik: "Traefik",
  haproxy: "HAProxy",
  cloudflare: "Cloudflare",
} as const;
export type ProxyKind = keyof typeof proxyNames;

/** Values that lines contain. */
export interface FixValues {
  /** Path of the public URL, without a final slash. */
  readonly path: string;
  /** `media.max_file_mb`. */
  readonly maxFileMb: number;
  /** Where the launcher listens for the proxy, such as `127.0.0.1:18800`. */
  readonly upstream: string;
  /** Host of the public URL, with its port. */
  readonly host: string;
}

type Lines = Partial<Record<ProxyKind, (values: FixValues) => string>>;

const patience = 300;
const connectionMap = "map $http_upgrade $doorward_connection { default upgrade; '' ''; }";

/** Fault -> the line of each proxy. */
const lines = {
  certificate: {
    nginx: () =>
      "ssl_certificate and ssl_certificate_key: name a valid certificate, then nginx -s reload",
    caddy: () => "remove your tls line, so that Caddy gets and renews certificates itself",
    traefik: () => "tls.certResolver of the router: name a resolver that works for this name",
    haproxy: () => "bind … ssl crt FILE: name a valid certificate, then reload HAProxy",
    cloudflare: () => "SSL/TLS, Edge Certificates: turn on the certificate for this name",
  },
  renewal: {
    nginx: () => "renew it (certbot renew), then nginx -s reload",
    caddy: () => "look why Caddy cannot renew it: journalctl -u caddy",
    traefik: () => "look why Traefik cannot renew it: its log names the certificate resolver",
    haproxy: () => "renew it, write certificate and key into the file of crt, then reload HAProxy",
  },
  intermediate: {
    nginx: () =>
      "ssl_certificate /path/fullchain.pem; (the file must also contain the intermediate)",
    caddy: () =>
      "tls /path/fullchain.pem /path/key.pem (the first file must also contain the intermediate)",
    traefik: () => "certFile: a file that also contains the intermediate certificate",
    haproxy: () => "bind … ssl crt FILE: write certificate, intermediate and key into FILE",
  },
  redirect: {
    nginx: () => "server { listen 80; return 301 https://$host$request_uri; }",
    caddy: () => "remove auto_https disable_redirects, and the site of http://",
    traefik: () => "entryPoints.web.http.redirections.entryPoint: { to: websecure, scheme: https }",
    haproxy: () => "http-request redirect scheme https code 301 unless { ssl_fc }",
    cloudflare: () => "SSL/TLS, Edge Certificates: turn on Always Use HTTPS",
  },
  path: {
    nginx: ({ upstream }) => `proxy_pass http://${upstream}; (without a / at its end)`,
    caddy: ({ path }) => `handle ${path}/* { … } (not handle_path, and no uri strip_prefix)`,
    traefik: () => "remove the middleware stripPrefix from the router",
    haproxy: () => "remove the line http-request replace-path (or set-path) of this path",
  },
  scheme: {
    nginx: () => "proxy_set_header X-Forwarded-Proto $scheme;",
    caddy: () => "remove header_up -X-Forwarded-Proto from reverse_proxy: Caddy sets it itself",
    traefik: () => "remove X-Forwarded-Proto from customRequestHeaders",
    haproxy: () => "http-request set-header X-Forwarded-Proto https if { ssl_fc }",
  },
  host: {
    nginx: () =>
      "proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Host $http_host; " +
      "(not $host, which has no port)",
    caddy: () =>
      "remove header_up Host, header_up -X-Forwarded-Host and trusted_proxies from reverse_proxy",
    traefik: () => "passHostHeader: true, and no forwardedHeaders.insecure",
    haproxy: () => "http-request set-header X-Forwarded-Host %[req.hdr(Host)]",
  },
  clientAddress: {
    nginx: () => "proxy_set_header X-Forwarded-For $remote_addr;",
    caddy: () =>
      "remove header_up X-Forwarded-For and trusted_proxies from reverse_proxy: Caddy " +
      "sets it itself",
    traefik: () =>
      "remove forwardedHeaders.insecure and trustedIPs of all addresses from the entry point",
    haproxy: () => "http-request set-header X-Forwarded-For %[src]",
  },
  headers: {
    nginx: () =>
      'remove the lines proxy_set_header NAME ""; of these headers, such as ' +
      "proxy_set_header Authorization",
    caddy: () => "remove request_header -NAME and header_up -NAME of these headers",
    traefik: () => "remove these headers from customRequestHeaders",
    haproxy: () => "remove http-request del-header NAME of these headers",
  },
  identity: {
    nginx: () =>
      'proxy_set_header Remote-User ""; proxy_set_header X-Forwarded-User ""; ' +
      'proxy_set_header X-Forwarded-Email ""; proxy_set_header X-Auth-Request-User "";',
    caddy: () =>
      "request_header -Remote-User (and -X-Forwarded-User, -X-Forwarded-Email, " +
      "-X-Auth-Request-User)",
    traefik: () =>
      'customRequestHeaders: { Remote-User: "", X-Forwarded-User: "", ' +
      'X-Forwarded-Email: "", X-Auth-Request-User: "" }',
    haproxy: () =>
      "http-request del-header Remote-User (and X-Forwarded-User, X-Forwarded-Email, " +
      "X-Auth-Request-User)",
  },
  proxyHeader: {
    nginx: () =>
      "proxy_set_header Remote-User $user; in locations with auth_request, and in all others " +
      'proxy_set_header Remote-User ""; (the header that proxy_sign_in names)',
    caddy: () =>
      "request_header -Remote-User (the header that proxy_sign_in names) before forward_auth, " +
      "inside route",
    traefik: () =>
      "authResponseHeaders of forwardAuth must name the header of proxy_sign_in in each router " +
      "that adds the secret",
    haproxy: () =>
      "http-request del-header Remote-User (the header that proxy_sign_in names) before it is set",
  },
  cookies: {
    nginx: () =>
      "remove proxy_cookie_flags, proxy_cookie_path, proxy_cookie_domain and " +
      "proxy_hide_header Set-Cookie",
    caddy: () => "remove header_down Set-Cookie from reverse_proxy",
    traefik: () => "remove Set-Cookie from customResponseHeaders",
    haproxy: () => "remove http-response replace-header Set-Cookie (or del-header)",
  },
  range: {
    nginx: () => 'remove proxy_set_header Range ""; and proxy_cache of this location',
    caddy: () => "remove request_header -Range and header_up -Range",
    traefik: () => "remove Range from customRequestHeaders",
    haproxy: () => "remove http-request del-header Range",
  },
  compression: {
    nginx: () => "remove sub_filter and gunzip from this location",
    caddy: () => "remove the lines that rewrite bodies from this site",
    haproxy: () => "remove compression offload",
  },
  http2: {
    nginx: () => "listen 443 ssl; (without http2), or look up the error log of nginx",
    caddy: () => "servers { protocols h1 } in the global options, or look up the log of Caddy",
    haproxy: () =>
      "h2-workaround-bogus-websocket-clients in the section global, or alpn http/1.1 on " +
      "the bind line; " +
      "rules must not ask for Connection: upgrade, which HTTP/2 does not have",
  },
  channel: {
    nginx: ({ upstream, path }) =>
      `location ${path}/ { proxy_pass http://${upstream}; … } must also serve ${path}/pico`,
    caddy: ({ path }) => `handle ${path}/* { reverse_proxy … } must also serve ${path}/pico`,
    traefik: ({ path }) => `PathPrefix(\`${path || "/"}\`) must also match ${path}/pico`,
    haproxy: ({ path }) =>
      `use_backend … if { path_beg ${path || "/"} } must also match ${path}/pico`,
  },
  websocket: {
    nginx: () =>
      "proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; " +
      `proxy_set_header Connection $doorward_connection; (with ${connectionMap})`,
    caddy: () => "remove header_up -Upgrade and header_up -Connection from reverse_proxy",
    traefik: () => "remove Upgrade and Connection from customRequestHeaders",
    haproxy: () => "remove http-request del-header Upgrade and option httpclose",
    cloudflare: () => "Network: turn on WebSockets",
  },
  websocketSilence: {
    nginx: () => `proxy_read_timeout ${patience}s; proxy_send_timeout ${patience}s;`,
    caddy: () => "remove stream_timeout from reverse_proxy, and read_timeout from its transport",
    traefik: () => `entryPoints.websecure.transport.respondingTimeouts.idleTimeout: ${patience}s`,
    haproxy: () => `timeout tunnel ${patience}s`,
    cloudflare: () =>
      "nothing to change: Cloudflare ends silent connections after 100 s; pings keep them open",
  },
  stream: {
    nginx: () => "proxy_buffering off; gzip off; (and no proxy_ignore_headers X-Accel-Buffering)",
    caddy: () =>
      "flush_interval -1 in reverse_proxy, and neither response_buffers nor buffer_responses",
    traefik: () => "responseForwarding.flushInterval: 1ms, and no middleware buffering",
    haproxy: () => "option http-no-delay, and no filter that reads responses",
    cloudflare: () => "nothing to change: use the WebSocket of the channel instead of events",
  },
  compressedStream: {
    nginx: () => "proxy_buffering off; gzip off; (gzip_types must not contain text/event-stream)",
    caddy: () => "flush_interval -1, and encode must not match text/event-stream",
    traefik: () => "compress.excludedContentTypes: [text/event-stream]",
    haproxy: () => "remove text/event-stream from compression type",
  },
  streamSilence: {
    nginx: () => `proxy_read_timeout ${patience}s;`,
    caddy: () =>
      `transport http { read_timeout ${patience}s } in reverse_proxy, or remove read_timeout`,
    traefik: () =>
      `serversTransport.forwardingTimeouts.idleConnTimeout: ${patience}s; ` +
      `respondingTimeouts.writeTimeout: 0`,
    haproxy: () => `timeout server ${patience}s and timeout client ${patience}s`,
    cloudflare: () => "nothing to change: Cloudflare ends silent responses after 100 s",
  },
  body: {
    nginx: ({ maxFileMb }) => `client_max_body_size ${maxFileMb}m;`,
    caddy: ({ maxFileMb }) => `request_body { max_size ${maxFileMb}MiB }, or remove request_body`,
    traefik: () => "remove buffering.maxRequestBodyBytes from the middlewares of the router",
    haproxy: () =>
      "remove the line http-request deny that compares content-length or req.body_size",
    cloudflare: () => "set media.max_file_mb to what the plan of Cloudflare permits (100 for most)",
  },
} as const satisfies Record<string, Lines>;

export type Fault = keyof typeof lines;

/** @returns The line of the recognised proxy, or those of all proxies. */
export function fixFor(fault: Fault, proxy: ProxyKind | undefined, values: FixValues): string {
  const found: Lines = lines[fault];
  const own = proxy && found[proxy]?.(values);
  if (proxy && own !== undefined) return `${proxyNames[proxy]}: ${own}`;
  const all = (["nginx", "caddy", "traefik", "haproxy"] as const).flatMap((kind) => {
    const line = found[kind]?.(values);
    return line === undefined ? [] : [`${proxyNames[kind]}: ${line}`];
  });
  return `${all.join(" · ")} (docs/deploy.md)`;
}
