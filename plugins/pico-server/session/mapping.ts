// Converts wire types to channel types, and results of the application to results for the client.
import { codeOf } from "../../../kernel/index.ts";
import {
  decode,
  messageErrors,
  WireError,
  type ClientFrame,
  type ErrorCode,
  type InlineImage,
  type MessagePayload,
  type NoticeFrame,
  type SkippedAttachment,
  type StoppedMessage,
} from "../../../lib/pico-wire/index.ts";
import type { FoundFiles } from "./message-files.ts";
import type { Media, StopResult } from "../../channels/index.ts";

/** @returns The frame, or the reason to reject it. */
export function decodeFrame(data: Uint8Array): ClientFrame | WireError {
  try {
    return decode(data, "client");
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
}

const noMedia: readonly Media[] = [];
const decodeImage = ({ type, base64, filename }: InlineImage): Media => ({
  type,
  bytes: Buffer.from(base64, "base64"),
  ...(filename !== undefined && { filename }),
});

/** @returns True if the frame is a message that names uploaded files. */
export const namesFiles = (frame: ClientFrame): boolean =>
  (frame.type === "message.send" || frame.type === "media.send") &&
  frame.payload.media.some((medium) => "id" in medium);

/**
 * Converts media of a client message to the type of applications.
 *
 * @param files - The files that the message names. They were found before.
 */
export const toChannelMedia = (
  media: MessagePayload["media"],
  files?: FoundFiles,
): readonly Media[] =>
  media.length === 0
    ? noMedia
    : media.flatMap((medium) =>
        "id" in medium ? (files?.get(medium.id) ?? []) : decodeImage(medium),
      );

/** Creates the frame that lists the attachments that the application does not receive. */
export const toSkippedNotice = (
  session: string,
  requestId: string | undefined,
  attachments: readonly SkippedAttachment[],
): NoticeFrame => ({
  type: "notice",
  session_id: session,
  payload: {
    code: "attachments_skipped",
    message:
      "Some attachments were skipped because they are neither uploaded files nor images in " +
      "data: URLs.",
    ...(requestId !== undefined && { request_id: requestId }),
    attachments,
  },
});

/** Converts the results of a stop to the wire. */
export const toStoppedMessages = (results: readonly StopResult[]): StoppedMessage[] =>
  results.map(({ id, status }) => ({ request_id: id, status }));

/** Rejects a frame that the client did not ask for with `pico_can`. */
export const unknownTypeError = ({ id, session_id }: ClientFrame): WireError =>
  Object.assign(new WireError("unknown_type", messageErrors.unknown_type.message), {
    ...(id !== undefined && { requestId: id }),
    ...(session_id !== undefined && { sessionId: session_id }),
  });

const forwardedCodes: readonly ErrorCode[] = ["no_application", "id_reused", "loop", "stopped"];
/** The application wrote these messages for the sender, so they are forwarded. */
const applicationCodes: readonly ErrorCode[] = [
  "application_refused",
  "application_ended",
  "bad_answer",
  "no_answer",
];

/** Errors of replies. For the sender, `too_large` means that its own message is too large. */
const replyCodes: Readonly<Record<string, ErrorCode>> = { too_large: "reply_too_large" };

/** @returns The code of a failed answer for the client. */
export const toFailureCode = (code: string): string => replyCodes[code] ?? code;

/** Errors after which the client sends the message again. */
const temporaryCodes: Readonly<Record<string, ErrorCode>> = {
  not_running: "busy",
  store_busy: "busy",
  store_unavailable: "not_stored",
};

/** @returns The code for the client if the conversations cannot be stored or read now. */
export const storeErrorOf = (error: unknown): ErrorCode | undefined =>
  temporaryCodes[codeOf(error)];

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
    replyCodes[code] ??
    temporaryCodes[code] ??
    forwardedCodes.find((known) => known === code) ??
    "internal";
  return { code: wireCode, message: messageErrors[wireCode].message };
}
