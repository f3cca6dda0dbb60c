import { codeOf } from "../../../kernel/index.ts";
import { messageErrors, type ErrorCode, type InlineImage } from "../../../lib/pico-wire/index.ts";
import type { Media } from "../../channels/index.ts";

const noMedia: readonly Media[] = [];
const decodeImage = ({ type, base64, filename }: InlineImage): Media => ({
  type,
  bytes: Buffer.from(base64, "base64"),
  ...(filename !== undefined && { filename }),
});

/** Images of a client's message, as applications get them. */
export const toChannelMedia = (images: readonly InlineImage[]): readonly Media[] =>
  images.length === 0 ? noMedia : images.map(decodeImage);

const forwardedCodes: readonly ErrorCode[] = ["no_application", "id_reused", "loop"];
/** Their sentences are the application's own, meant for whoever sent the message. */
const applicationCodes: readonly ErrorCode[] = [
  "application_refused",
  "application_ended",
  "bad_answer",
  "no_answer",
];

/** What the peer learns about a delivery that failed; details stay in the log. */
export function toMessageError(error: unknown): {
  readonly code: ErrorCode;
  readonly message: string;
} {
  const found = codeOf(error);
  const own = applicationCodes.find((known) => known === found);
  if (own !== undefined) return { code: own, message: (error as Error).message };
  const code =
    found === "not_running"
      ? "busy"
      : (forwardedCodes.find((known) => known === found) ?? "internal");
  return { code, message: messageErrors[code].message };
}
