// Values that servers and load generators share.

export const launcherToken = "bench-launcher-token-of-43-characters-0000000";
export const protocolTokens = {
  openai: "bench-openai-token-of-43-characters-000000000",
  ai_sdk: "bench-ai-sdk-token-of-43-characters-000000000",
  ag_ui: "bench-ag-ui-token-of-43-characters-0000000000",
};
export const picoToken = "bench-pico-token-of-43-characters-00000000000";

/** A message that starts with this requests a streamed reply. All others are echoed. */
export const askForStream = "stream ";
/** One token of a streamed reply. */
export const token = " word";
/** The last token of a streamed reply. */
export const lastToken = " the-end";
/** Interval between updates of a streamed reply. */
export const updateEveryMs = 112;
/** Interval at which the application writes tokens. */
export const tokensEveryMs = 20;

/** The peers store nothing, so conversations are kept in memory. `BENCH_STORE=sqlite` measures the file. */
export const storeKind = process.env["BENCH_STORE"] ?? "memory";
