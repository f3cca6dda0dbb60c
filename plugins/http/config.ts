import * as z from "zod";
import { isNetwork } from "./addresses.ts";
import { isBasePath, normaliseBasePath } from "./paths.ts";

const port = z.int().min(0).max(65_535);
const host = z.string().min(1).max(255);

/** The part of the section `launcher` that concerns the listener. */
export const launcherSchema = z.strictObject({
  port: port.default(18_800),
  /** One interface; it wins over `public`. */
  host: host.optional(),
  /** All interfaces; otherwise 127.0.0.1. */
  public: z.boolean().default(false),
  base_path: z
    .string()
    .refine(isBasePath, "expected a path such as /door")
    .overwrite(normaliseBasePath)
    .default(""),
  trusted_proxies: z
    .array(z.string().refine(isNetwork, "expected an IP address or a range such as 10.0.0.0/8"))
    .max(1_000)
    .default([]),
  /** Paths of PEM files. */
  tls: z.strictObject({ cert: z.string().min(1), key: z.string().min(1) }).optional(),
});
export type HttpConfig = z.output<typeof launcherSchema>;

/** Without a port there is no second listener. `host` defaults to where the first one is bound. */
export const gatewaySchema = z.strictObject({ port: port.optional(), host: host.optional() });
export type GatewayConfig = z.output<typeof gatewaySchema>;
