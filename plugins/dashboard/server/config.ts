/** Schema of the dashboard fields in the section `launcher`. @module */
import * as z from "zod";

const hostName = z
  .string()
  .min(1)
  .max(255)
  .regex(/^(\*\.)?[a-z0-9.-]+$/i, "expected a host name such as dashboard.example.org");
const origin = z
  .string()
  .max(300)
  .regex(/^https?:\/\/[^/\s?#@]+$/i, "expected an origin such as https://dashboard.example.org")
  .refine((text) => URL.canParse(text), "expected an origin such as https://dashboard.example.org")
  // The form that browsers send: lower case, without the default port.
  .transform((text) => new URL(text).origin);

const headerName = z
  .string()
  .max(64)
  .regex(/^[A-Za-z][A-Za-z0-9-]*$/, "expected the name of a header, such as Remote-User");
/** A reverse proxy names the person in a header. */
const proxySignIn = z.strictObject({
  header: headerName.meta({ description: "Header with the id of the person." }),
  secret_header: headerName
    .default("X-Doorward-Proxy")
    .meta({ description: "Header with the token proxy_sign_in." }),
  name_header: headerName.optional().meta({ description: "Header with a name for people." }),
  owners: z
    .array(z.string().min(1).max(128))
    .min(1)
    .max(100)
    .meta({ description: "Ids of the people who are owners." }),
  logout_url: z
    .string()
    .max(2_048)
    .regex(/^(?:https?:\/\/|\/)/, "expected an address such as https://auth.example.org/logout")
    .optional()
    .meta({ description: "Where a sign-out leads." }),
});

export const dashboardSchema = z.strictObject({
  allowed_hosts: z.array(hostName).max(100).default([]).meta({
    editable: true,
    section: "access",
    title: "Allowed host names",
    description: "Host names that browsers may use, in addition to localhost and IP addresses.",
  }),
  allowed_origins: z.array(origin).max(100).default([]).meta({
    editable: true,
    section: "access",
    title: "Allowed origins of the dashboard",
    description: "Origins whose pages may send changes, in addition to the pages of the dashboard.",
  }),
  login_attempts_per_minute: z.int().min(1).max(1_000).default(10).meta({
    editable: true,
    section: "sign-in",
    title: "Wrong tokens per minute",
    description: "An address that sends this many different wrong tokens has to wait.",
  }),
  session_days: z.number().min(0.01).max(365).default(7).meta({
    editable: true,
    section: "sign-in",
    title: "Sign-in lifetime",
    description: "A sign-in ends this long after it began, even if it is in use.",
    unit: "days",
  }),
  proxy_sign_in: proxySignIn.optional().meta({
    title: "Sign-in by a proxy",
    description: "A reverse proxy in trusted_proxies names the person in a header.",
  }),
  keep_sign_ins: z.boolean().default(false).meta({
    editable: true,
    section: "sign-in",
    title: "Keep sign-ins",
    description:
      "Keeps browsers signed in after a restart. If off, every restart signs all browsers out.",
  }),
});
/** The section with defaults filled in. */
export type DashboardConfig = z.output<typeof dashboardSchema>;
/** The section as users write it in the file: every field is optional. */
export type DashboardInput = z.input<typeof dashboardSchema>;
