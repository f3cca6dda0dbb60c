/** Connects a conversation and reads its history. One file for browsers. @module */
export { ConsoleTransport, showRun } from "./console.ts";
export { Transport } from "./transport.ts";
export { addTimes, addTurns, hasTurn } from "./turns.ts";
