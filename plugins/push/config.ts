// Schema of the section `push`, and of the bodies of its requests.
import * as z from "zod";

const meta = (title: string, description: string, unit?: string) => ({
  editable: true,
  section: "notifications",
  title,
  description,
  ...(unit !== undefined && { unit }),
});

/** `NAME` or `NAME:PORT`; `*.` matches every name below. */
const pushHost = z
  .string()
  .max(255)
  .regex(/^(\*\.)?[a-z0-9.-]+(:\d{1,5})?$/i, "expected a host name such as push.example.org");

export const pushSchema = z.strictObject({
  questions: z
    .boolean()
    .default(true)
    .meta(meta("A question waits", "After 3 seconds, because many are answered at the desk.")),
  answers: z
    .boolean()
    .default(true)
    .meta(meta("An answer is ready", "For messages that you wrote in the chat.")),
  answer_after_s: z
    .int()
    .min(0)
    .max(86_400)
    .default(30)
    .meta(
      meta(
        "Answers that took",
        "Shorter ones send no notification that they are ready.",
        "seconds",
      ),
    ),
  show_content: z
    .boolean()
    .default(false)
    .meta(
      meta(
        "Show the content",
        "The first 120 characters appear on the lock screen. Off: only that something waits.",
      ),
    ),
  actions: z
    .enum(["open", "deny", "both"])
    .default("deny")
    .meta(
      meta(
        "Buttons",
        "open: none that answers. deny: Deny and Open. both: Allow and Deny. Firefox and iPhones " +
          "show no buttons. Lasting answers are never offered.",
      ),
    ),
  hosts: z
    .array(pushHost)
    .max(20)
    .default([])
    .meta(
      meta(
        "Further push services",
        "Host names of your own push services, with a port if it is not 443. " +
          "They may have private addresses.",
      ),
    ),
});
/** The validated section. */
export type PushConfig = z.output<typeof pushSchema>;
/** The section as users write it: every field is optional. */
export type PushInput = z.input<typeof pushSchema>;

const base64 = z.string().regex(/^[\w-]+={0,2}$/);

export const subscriptionBody = z.object({
  endpoint: z.string().max(1_000),
  keys: z.object({ p256dh: base64.max(100), auth: base64.max(40) }),
  /** Passes a known device to this sign-in, and adds none. */
  renew: z.boolean().optional(),
  /** The address that the browser has replaced. */
  replaces: z.string().max(1_000).optional(),
});
export const seenBody = z.object({
  /** Chosen by the page at random. */
  page: z.string().regex(/^[\w-]{8,64}$/),
  visible: z.boolean(),
});
export const answerBody = z.object({
  ticket: z.string().max(200),
  option: z.string().max(200),
});
