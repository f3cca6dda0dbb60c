// The parts of the log that channels make themselves. They need no other part of the plugin.
export { MemorySessionLog } from "./memory-session-log.ts";
export { requestIdOf, toAttachment, toPayload } from "./message-payload.ts";
export { toMark } from "../question-frames.ts";
export { toTurnEntry } from "./turn-entry.ts";
