/* A program, or a page, that speaks on a channel: the link comes back by itself and loses nothing. */
import { connect } from "doorward/client";

const chat = connect({
  url: process.env["PICO_URL"] ?? "ws://127.0.0.1:18800/pico",
  token: process.env["PICO_TOKEN"] ?? "",
  onMessage: ({ content }) => console.log(`answer: ${content}`),
  onState: ({ to, reason, check }) => console.log(`link ${to}`, reason, check ?? ""),
  onGap: ({ reason }) => console.log(`messages were missed: ${reason}`),
});

process.once("SIGTERM", () => chat.stop());
await chat.send("hello"); // resolves when the application has it
