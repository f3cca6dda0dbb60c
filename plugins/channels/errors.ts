/** Errors of the channels plugin. */
import { errorTable } from "../../kernel/index.ts";

export const channelsErrors = errorTable({
  channel_taken: (name: string) =>
    `A channel named "${name}" is already attached; give one of them another name.`,
  channel_invalid: (problem: string) =>
    `needs.channels.attach() takes { name, send(session, id, message) }: ${problem}.`,
  message_invalid: (field: string, found: string) =>
    `deliver() takes { session, id, content }: ${field} must be a text, and it is ${found}.`,
  reply_invalid: (call: string, problem: string) =>
    `${call}() of the application cannot take this: ${problem}.`,
  too_large:
    "A text has more than 8,388,608 characters; send it in several messages, or as a file.",
  receipt_missing: (channel: string, method: string, found: string) =>
    `${method}() of the channel "${channel}" returned ${found} instead of a receipt: return ` +
    '{ id, status: "written" }, or nothing if the message was written.',
  application_taken:
    "The kernel already has an application, and only one can be used: remove one of the two.",
  application_invalid: (what: string) =>
    `The application is ${what}, not a function: pass one that receives a message, like ` +
    "application(async ({ content, reply }) => { await reply({ content }); }).",
  suggestions_invalid: (expected: string) =>
    `"suggestions" of the application must be ${expected}, such as ["What can you do?"].`,
  title_invalid: "A title has 1 to 200 characters; pass a shorter one.",
  no_application:
    "No application receives messages; add application() or echo() to the plugin list.",
  id_reused: "Another message already used this id; give each message its own id.",
  loop: "The message has crossed too many bridges; check the bridges for a loop.",
  no_client: "The reply was aborted because no client of the session is connected.",
  not_running: "Messages can be sent and received only while Doorward is running.",
  unsupported: (channel: string, action: string) =>
    `The channel "${channel}" cannot ${action} messages.`,
  invalid_question: (problem: string) => `The question is not valid: ${problem}.`,
  unsupported_question: (problem: string) => `Questions cannot ask for this: ${problem}.`,
  too_many_questions: (count: number, where: string) =>
    `${count} questions are open in ${where}; wait until some are answered.`,
  not_owner: "Another node has taken over this session.",
  stopped: "The message was stopped; send it again as a new message if you need it.",
  stream_ended: "The reply has ended; call write() before end().",
  rate_limited: "Too many messages are waiting to be sent; wait for their receipts.",
  undeliverable: (channel: string) => `The channel "${channel}" could not send the message.`,
});
