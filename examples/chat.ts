// A client of a channel, for programs and pages. The link reconnects and resends messages.
import { connect } from "doorward/client";

const chat = connect({
  url: process.env["PICO_URL"] ?? "ws://127.0.0.1:18800/pico",
  token: process.env["PICO_TOKEN"] ?? "",
  onMessage: ({ content }) => console.log(`reply: ${content}`),
  onState: ({ to, reason, check }) => console.log(`link ${to}`, reason, check ?? ""),
  onGap: ({ reason }) => console.log(`messages were missed: ${reason}`),
});

process.once("SIGTERM", () => chat.close());
await chat.send("hello").accepted; // resolves when the application accepts it
