// Converts between wire types and channel types: images of clients, and errors of the application.
import { codeOf } from "../../../kernel/index.ts";
import { messageErrors, type ErrorCode, type InlineImage } from "../../../lib/pico-wire/index.ts";
import type { Media } from "../../channels/index.ts";

const noMedia: readonly Media[] = [];
const decodeImage = ({ type, base64, filename }: InlineImage): Media => ({
  type,
  bytes: Buffer.from(base64, "base64"),
  ...(filename !== undefined && { filename }),
});

/** Converts images of a client message to the media type of applications. */
export const toChannelMedia = (images: readonly InlineImage[]): readonly Media[] =>
  images.length === 0 ? noMedia : images.map(decodeImage);

const forwardedCodes: readonly ErrorCode[] = ["no_application", "id_reused", "loop"];
/** The application wrote these messages for the sender, so they are forwarded. */
const applicationCodes: readonly ErrorCode[] = [
  "application_refused",
  "application_ended",
  "bad_answer",
  "no_answer",
];

/** Converts a failed delivery to the error for the client. Details stay in the log. */
export function toMessageError(error: unknown): {
  readonly code: ErrorCode;
  readonly message: string;
} {
  const code = codeOf(error);
  const applicationCode = applicationCodes.find((known) => known === code);
  if (applicationCode !== undefined)
    return { code: applicationCode, message: (error as Error).message };
  const wireCode =
    code === "not_running"
      ? "busy"
      : (forwardedCodes.find((known) => known === code) ?? "internal");
  return { code: wireCode, message: messageErrors[wireCode].message };
}
