// The session log in memory. It needs no other part of the plugin, so that a channel can make one
// itself if the plugin is not listed.
export { createMemorySessionLog } from "./memory-session-log.ts";
