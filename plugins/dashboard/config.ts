import * as z from "zod";

const hostName = z
  .string()
  .min(1)
  .max(255)
  .regex(/^(\*\.)?[a-z0-9.-]+$/i, "expected a host name such as door.example.org");
const origin = z
  .string()
  .max(300)
  .regex(/^https?:\/\/[^/\s?#@]+$/i, "expected an origin such as https://door.example.org")
  .refine((text) => URL.canParse(text), "expected an origin such as https://door.example.org")
  .transform((text) => new URL(text).origin); // as browsers write it: lower case, without the scheme's own port

/** The part of the section `launcher` that concerns the dashboard. */
export const dashboardSchema = z.strictObject({
  allowed_hosts: z.array(hostName).max(100).default([]).meta({
    editable: true,
    title: "Allowed host names",
    description:
      "Names by which browsers may reach the dashboard, beside localhost and IP addresses.",
  }),
  allowed_origins: z.array(origin).max(100).default([]).meta({
    editable: true,
    title: "Allowed origins",
    description:
      "Pages of these origins may send requests that change something, beside the dashboard's own.",
  }),
  login_attempts_per_minute: z.int().min(1).max(1_000).default(10).meta({
    editable: true,
    title: "Wrong tokens in a minute",
    description: "How many different ones an address may try before it has to wait.",
  }),
  session_days: z.number().min(0.01).max(365).default(7).meta({
    editable: true,
    title: "A sign-in lasts",
    description: "Counted from the sign-in, however much it is used.",
    unit: "days",
  }),
  keep_sign_ins: z.boolean().default(false).meta({
    editable: true,
    title: "Keep sign-ins",
    description: "Sign-ins survive a restart. Off: every restart signs all browsers out.",
  }),
});
export type DashboardConfig = z.output<typeof dashboardSchema>;
/** The section as users write it. */
export type DashboardInput = z.input<typeof dashboardSchema>;
