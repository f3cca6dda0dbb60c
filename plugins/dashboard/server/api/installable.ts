/**
 * Serves manifest, worker and icons of the installed page at fixed addresses, which browsers load
 * without a cookie, and widens the policy of the pages that register the worker.
 *
 * @module
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { DashboardContext, SiteContext } from "../context.ts";
import { refuse } from "../errors.ts";
import { hostName, requestState } from "../request.ts";
import { isRandomHostName } from "../auth/private-host.ts";

const icons = ["icon-192.png", "icon-512.png", "icon-maskable-512.png", "apple-touch-icon.png"];
/** `--accent` and `--bg` of the light theme: a manifest has one colour for both themes. */
const colours = { theme_color: "#0c6a60", background_color: "#fbfaf8" };

const manifestOf = ({ url }: SiteContext) => ({
  id: url("/"),
  name: "Doorward",
  short_name: "Doorward",
  description: "Conversations with your application",
  start_url: url("/chat"),
  scope: url("/"),
  display: "standalone",
  ...colours,
  icons: [
    { src: url("/icon-192.png"), sizes: "192x192", type: "image/png" },
    { src: url("/icon-512.png"), sizes: "512x512", type: "image/png" },
    {
      src: url("/icon-maskable-512.png"),
      sizes: "512x512",
      type: "image/png",
      purpose: "maskable",
    },
  ],
});

/** The worker fetches and nothing else; its script is the only one. */
const workerPolicy = "default-src 'none'; connect-src 'self'";

/** Adds manifest, worker and icons. They need no sign-in and contain no secret. */
export function installableRoutes(app: FastifyInstance, { site }: DashboardContext): void {
  const config = { access: "open" } as const;
  app.get("/manifest.webmanifest", { config }, (_request, reply) =>
    reply
      .header("cache-control", "no-cache")
      .type("application/manifest+json")
      .send(JSON.stringify(manifestOf(site))),
  );
  app.get("/sw.js", { config }, (_request, reply) =>
    sendFile(site, reply, "sw.js", { policy: workerPolicy, cache: "no-cache" }),
  );
  for (const name of [...icons, "icon.svg"])
    app.get(`/${name}`, { config }, (_request, reply) =>
      sendFile(site, reply, name, { cache: "public, max-age=86400" }),
    );
}

function sendFile(
  { assets }: SiteContext,
  reply: FastifyReply,
  name: string,
  { policy, cache }: { readonly policy?: string; readonly cache: string },
): FastifyReply {
  const asset = assets.get(`console/${name}`);
  if (!asset) throw refuse("not_found");
  if (policy !== undefined) void reply.header("content-security-policy", policy);
  return reply.header("cache-control", cache).type(asset.type).send(asset.body);
}

/** Pages that register the worker. */
const registering: ReadonlySet<string> = new Set(["chat", "notifications"]);

/**
 * @returns Whether a page may register the worker. Under the private host name it may not: the next
 *   start has another one, so the worker and the installed page would reach no server.
 */
export const registersWorker = (request: FastifyRequest, page: string): boolean =>
  registering.has(page) && !isRandomHostName(hostName(requestState(request).peer.host));

/** Lets a page name the script of the worker, and load the manifest. */
export function widenPolicy(reply: FastifyReply): void {
  const strict = String(reply.raw.getHeader("content-security-policy"));
  const policy = strict.replace("trusted-types 'none'", "trusted-types doorward-worker");
  void reply.header("content-security-policy", `${policy}; manifest-src 'self'`);
}

/**
 * @returns Addresses of a page that do not change with the next start; undefined if the request has
 *   one of them.
 */
export function lastingAddresses(
  { http, site, auth }: DashboardContext,
  request: FastifyRequest,
  path: string,
): readonly string[] | undefined {
  const { peer } = requestState(request);
  if (!isRandomHostName(hostName(peer.host))) return undefined;
  const local = http.addresses().map((address) => {
    const url = new URL(site.url(path), address);
    // The machine itself: browsers treat this name as secure, and it is easy to remember.
    if (isLoopbackName(url.hostname)) url.hostname = "localhost";
    return url.href;
  });
  const named = auth
    .config()
    .allowed_hosts.filter((name) => !name.startsWith("*."))
    .map((name) => `https://${name}${site.url(path)}`);
  return [
    ...new Set([http.publicUrl(path), ...named, ...local].filter((each) => each !== undefined)),
  ];
}

const isLoopbackName = (name: string): boolean => name === "127.0.0.1" || name === "[::1]";
