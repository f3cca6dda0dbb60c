// The open questions of a session, for clients that connect after they were asked.
import { encode } from "../../../lib/pico-wire/index.ts";
import type { OpenQuestion } from "../../channels/index.ts";
import { toPayload } from "../../conversations/log/index.ts";
import type { Replay } from "../../conversations/index.ts";

/** The open questions, oldest first; undefined if they are not known. */
export type OpenQuestions = readonly OpenQuestion[] | undefined;

/** A question has no files. */
const noAttachment = (): never => {
  throw new TypeError("a question has no files");
};

const toFrame = ({ session, id, content, question, inReplyTo, at }: OpenQuestion): string =>
  encode({
    type: "message.create",
    payload: toPayload(
      id,
      { content, question, ...(inReplyTo !== undefined && { inReplyTo }) },
      false,
      noAttachment,
    ),
    session_id: session,
    timestamp: at,
  });

/** @returns Frames with the whole questions that the replay does not contain, oldest first. */
export function missingQuestions(
  questions: OpenQuestions,
  { frames, partials }: Pick<Replay, "frames" | "partials">,
): readonly Buffer[] {
  return (questions ?? [])
    .filter(({ id }) => {
      const mark = `"message_id":${JSON.stringify(id)}`;
      return ![...frames, ...partials].some((frame) => Buffer.from(frame).includes(mark));
    })
    .map((question) => Buffer.from(toFrame(question)));
}
