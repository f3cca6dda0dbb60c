// Replaces frames that add text to a message by updates with the whole text.
import type { AppendFrame, ServerMessage } from "../pico-wire/index.ts";
import * as bounds from "./limits.ts";
import { updateConnection, type StepContext } from "./step-context.ts";
import type { GrowingText, ChatFrame } from "./text-types.ts";

/** @returns Undefined if the frame adds to a text that this client does not have. */
export function readGrowth(
  { core: { connection } }: StepContext,
  { payload: { message_id: id, at, content, ...rest }, ...frame }: AppendFrame,
): ChatFrame | undefined {
  const text = connection?.texts.find(({ message_id }) => message_id === id);
  if (text?.content.length !== at) return undefined;
  return {
    ...frame,
    type: "message.update",
    payload: { ...text, ...rest, content: text.content + content },
  };
}

/** Keeps the text of a message until it is final. */
export function rememberText(context: StepContext, frame: ChatFrame): void {
  const texts = context.core.connection?.texts ?? [];
  switch (frame.type) {
    case "message.create":
    case "message.update":
    case "media.create":
    case "message.delete": {
      const { message_id: id } = frame.payload;
      const others = texts.filter(({ message_id }) => message_id !== id);
      const text = "content" in frame.payload && growingText(frame.payload);
      if (text) others.push(text);
      if (text || others.length < texts.length)
        updateConnection(context, { texts: others.slice(-bounds.maxPartialMessages) });
    }
  }
}

/** @returns Undefined if the message is final. The fields that are left out end with an update. */
function growingText(payload: ServerMessage): GrowingText | undefined {
  const { attachments, tool_calls, placeholder, model_name, context_usage, final, ...text } =
    payload;
  return final ? undefined : text;
}
