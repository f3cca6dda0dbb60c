// Reads the JSON body of a request, or says why it is rejected.
import type { IncomingMessage } from "node:http";
import { bodyType, readBody as readBytes, type BodyOptions } from "../../http/kit.ts";
import type { Rejection } from "../handshake/rejection.ts";

const busyMessage = "Too many messages wait for the application. Try again shortly.";

/** @returns The body, the reason to reject it, or undefined if the client closed the connection. */
export async function readBody(
  request: IncomingMessage,
  options: BodyOptions,
): Promise<Buffer | Rejection | undefined> {
  if (bodyType(request) !== "application/json") return { code: "unsupported_media_type" };
  const body = await readBytes(request, options);
  if (typeof body !== "string") return body;
  return body === "busy" ? { code: body, message: busyMessage } : { code: body };
}
