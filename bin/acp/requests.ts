// The requests of an editor, as they are read. Unknown fields are left out.
import * as z from "zod";
import { contentBlock, RpcError, rpcCodes } from "../../lib/acp-wire/index.ts";

const maybeText = z
  .string()
  .nullish()
  .transform((value) => value ?? undefined);
/** A name of the application that the wire accepts: at most 256 bytes. */
const sessionId = z
  .string()
  .refine((id) => id !== "" && Buffer.byteLength(id) <= 256 && !/\p{Cc}/u.test(id), {
    error: "expected the id of a session: 1 to 256 bytes without control characters",
  });
const cwd = z.string().refine((path) => /^(?:[/\\]|[A-Za-z]:)/.test(path), {
  error: "expected an absolute path",
});
/** A capability that is an object if present. */
const present = z.unknown().transform((value) => typeof value === "object" && value !== null);

export const initializeRequest = z.object({
  protocolVersion: z.number(),
  clientCapabilities: z
    .object({ elicitation: z.object({ form: present }).catch({ form: false }) })
    .catch({ elicitation: { form: false } }),
});

export const newSessionRequest = z.object({ cwd });
export const loadSessionRequest = z.object({ sessionId, cwd });
export const sessionRequest = z.object({ sessionId });
export const listRequest = z.object({ cwd: maybeText, cursor: maybeText });
export const promptRequest = z.object({ sessionId, prompt: z.array(contentBlock).min(1) });

export const elicitationResult = z.object({
  action: z.string(),
  content: z
    .record(z.string(), z.unknown())
    .nullish()
    .transform((value) => value ?? undefined),
});

/** @throws RpcError that names the field, if the parameters do not have this form. */
export function read<T extends z.ZodType>(schema: T, params: unknown): z.output<T> {
  const result = schema.safeParse(params ?? {});
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue!.path.join(".");
  throw new RpcError(rpcCodes.invalidParams, `"${path}": ${issue!.message}`);
}
