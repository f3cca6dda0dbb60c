import { errorTable } from "../../kernel/index.ts";

export const channelsErrors = errorTable({
  channel_taken: (name: string) =>
    `A channel named "${name}" is attached already; give one of them another name.`,
  application_taken: "An application answers already, and exactly one can; leave one of them out.",
  no_application: "No application takes messages; add application() or echo() to the plugin list.",
  id_reused: "This message id was used before for another message; give each its own.",
  loop: "The message has crossed too many bridges; it is running in a circle.",
  not_running: "Messages are taken and sent only while the service is running.",
  unsupported: (channel: string, what: string) =>
    `The channel "${channel}" cannot ${what} messages.`,
  stream_ended: "The answer was ended and nothing can be added; write before end().",
  undeliverable: (channel: string) => `The channel "${channel}" could not send the message.`,
});
