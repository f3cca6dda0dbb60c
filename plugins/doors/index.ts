// Shared by the plugins that offer the pico channel through HTTP protocols of other products.
export { readJson, type JsonBody } from "./body.ts";
export { commonSettings, settingMeta } from "./config.ts";
export { type Follower, type RunEnd, type RunReader, type TextKind } from "./follow.ts";
export { createGate, type Gate } from "./gate.ts";
export { maxImages, readImage, toMarkdown } from "./media.ts";
export { boundFields } from "./metadata.ts";
export { Refusal } from "./refusal.ts";
export { Runs, type JoinedRun } from "./runs.ts";
export { EventWriter } from "./sse.ts";
