/** Schemas of the settings of the HTTP listeners. */
import * as z from "zod";
import { isNetwork, withoutBrackets } from "./addresses.ts";
import { isBasePath, normaliseBasePath } from "./requests.ts";

const port = z.int().min(0).max(65_535);
const host = z.string().min(1).max(255).overwrite(withoutBrackets);

/** Settings of the dashboard listener, a part of the section `launcher`. */
export const launcherSchema = z.strictObject({
  port: port
    .default(18_800)
    .meta({ title: "Port", description: "TCP port of the dashboard. 0 selects a free port." }),
  host: host.optional().meta({
    title: "Interface",
    description: "Address to listen on. It overrides “Public”.",
  }),
  public: z
    .boolean()
    .default(false)
    .meta({ title: "Public", description: "Listens on all interfaces instead of 127.0.0.1 only." }),
  base_path: z
    .string()
    .refine(isBasePath, "expected a path such as /agent")
    .overwrite(normaliseBasePath)
    .default("")
    .meta({
      title: "Base path",
      description: "Prefix of all paths, such as /agent, for a proxy with several programs.",
    }),
  trusted_proxies: z
    .array(z.string().refine(isNetwork, "expected an IP address or a range such as 10.0.0.0/8"))
    .max(1_000)
    .default([])
    .meta({
      title: "Trusted proxies",
      description: "Addresses and ranges whose X-Forwarded headers are accepted.",
    }),
  max_unauthenticated_connections: z.int().min(0).max(1_000_000).default(4_096).meta({
    title: "Maximum unauthenticated connections",
    description: "New connections beyond this limit are closed. 0 removes the limit.",
  }),
  max_unauthenticated_per_address: z.int().min(0).max(1_000_000).default(256).meta({
    title: "Maximum unauthenticated connections per address",
    description: "Loopback addresses and trusted proxies are exempt. 0 removes the limit.",
  }),
  tls: z
    .strictObject({ cert: z.string().min(1), key: z.string().min(1) })
    .optional()
    .meta({
      title: "TLS",
      description: "Paths of the certificate and its key (PEM). They turn HTTPS on.",
    }),
});
/** Validated settings of the dashboard listener. */
export type HttpConfig = z.output<typeof launcherSchema>;
/** Settings of the dashboard listener as users write them. */
export type HttpInput = z.input<typeof launcherSchema>;

const expectedUrl =
  "expected a URL such as https://chat.example.org, without a user, a query and a fragment";

/** @returns Whether the text is the URL of a website: nothing but origin and path. */
function isPublicUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  const isWeb = protocol === "https:" || protocol === "http:";
  return isWeb && username === "" && password === "" && !/[?#@\\\s]/.test(text);
}

/** Settings of the gateway listener. Without a port it is off. `host` defaults to the interface of
 *  the dashboard listener. Links of messages begin with `public_url`. */
export const gatewaySchema = z.strictObject({
  port: port.optional(),
  host: host.optional(),
  public_url: z.string().max(500).refine(isPublicUrl, expectedUrl).optional(),
});
/** Validated settings of the gateway listener. */
export type GatewayConfig = z.output<typeof gatewaySchema>;
/** Settings of the gateway listener as users write them. */
export type GatewayInput = z.input<typeof gatewaySchema>;
