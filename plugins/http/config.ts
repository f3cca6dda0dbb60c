import * as z from "zod";
import { isNetwork } from "./addresses.ts";
import { isBasePath, normaliseBasePath } from "./target.ts";

const port = z.int().min(0).max(65_535);
const host = z.string().min(1).max(255);

/** The part of the section `launcher` that concerns the listener. */
export const launcherSchema = z.strictObject({
  port: port
    .default(18_800)
    .meta({ title: "Port", description: "Where the dashboard listens. 0 takes a free one." }),
  host: host.optional().meta({
    title: "Interface",
    description: "The one address it listens on. It wins over “public”.",
  }),
  public: z
    .boolean()
    .default(false)
    .meta({ title: "Public", description: "Listens on all interfaces, not only on 127.0.0.1." }),
  base_path: z
    .string()
    .refine(isBasePath, "expected a path such as /door")
    .overwrite(normaliseBasePath)
    .default("")
    .meta({
      title: "Base path",
      description: "In front of every path, as in /door, for a proxy that serves more.",
    }),
  trusted_proxies: z
    .array(z.string().refine(isNetwork, "expected an IP address or a range such as 10.0.0.0/8"))
    .max(1_000)
    .default([])
    .meta({
      title: "Trusted proxies",
      description: "Addresses and ranges whose X-Forwarded headers count.",
    }),
  max_unauthenticated_connections: z.int().min(0).max(1_000_000).default(4_096).meta({
    title: "Maximum unauthenticated connections",
    description:
      "Further connections are closed until one authenticates or ends. 0 lifts the limit.",
  }),
  max_unauthenticated_per_address: z.int().min(0).max(1_000_000).default(256).meta({
    title: "Maximum unauthenticated connections per address",
    description: "Loopback addresses and trusted proxies are exempt. 0 lifts the limit.",
  }),
  tls: z
    .strictObject({ cert: z.string().min(1), key: z.string().min(1) })
    .optional()
    .meta({
      title: "TLS",
      description: "Paths of the certificate and its key (PEM); with them it serves https.",
    }),
});
export type HttpConfig = z.output<typeof launcherSchema>;
/** The section as users write it. */
export type HttpInput = z.input<typeof launcherSchema>;

/** Without a port there is no second listener. `host` defaults to where the first one is bound. */
export const gatewaySchema = z.strictObject({ port: port.optional(), host: host.optional() });
export type GatewayConfig = z.output<typeof gatewaySchema>;
/** The section as users write it. */
export type GatewayInput = z.input<typeof gatewaySchema>;
