// The requests of an editor, as they are read. Unknown fields are left out.
import * as z from "zod";
import { contentBlock, maybe, present } from "../../lib/acp-wire/index.ts";

/** A name of the application that the wire accepts: at most 256 bytes. */
const sessionId = z
  .string()
  .refine((id) => id !== "" && Buffer.byteLength(id) <= 256 && !/\p{Cc}/u.test(id), {
    error: "expected the id of a session: 1 to 256 bytes without control characters",
  });
const cwd = z.string().refine((path) => /^(?:[/\\]|[A-Za-z]:)/.test(path), {
  error: "expected an absolute path",
});

export const initializeRequest = z.object({
  protocolVersion: z.number(),
  clientCapabilities: z
    .object({ elicitation: z.object({ form: present }).catch({ form: false }) })
    .catch({ elicitation: { form: false } }),
});

export const newSessionRequest = z.object({ cwd });
export const loadSessionRequest = z.object({ sessionId, cwd });
export const sessionRequest = z.object({ sessionId });
export const listRequest = z.object({ cwd: maybe(z.string()), cursor: maybe(z.string()) });
export const promptRequest = z.object({ sessionId, prompt: z.array(contentBlock).min(1) });

export const elicitationResult = z.object({
  action: z.string(),
  content: maybe(z.record(z.string(), z.unknown())),
});
