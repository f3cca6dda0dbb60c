import type { IncomingMessage } from "node:http";
import type { Refusal } from "./refusals.ts";

/** The whole body, or why it was not taken. Undefined: the peer went away. */
export async function readBody(q: IncomingMessage, most: number): Promise<Buffer | Refusal | undefined> {
  const type = (q.headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase();
  if (type !== "application/json") return { code: "unsupported_media_type" };
  if (Number(q.headers["content-length"] ?? 0) > most) return { code: "body_too_large" };
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of q.iterator({ destroyOnReturn: false })) {
      bytes += (chunk as Buffer).byteLength;
      if (bytes > most) return { code: "body_too_large" };
      chunks.push(chunk as Buffer);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}
