// What servers and clients must agree on.

export const launcherToken = "bench-launcher-token-of-43-characters-0000000";
export const picoToken = "bench-pico-token-of-43-characters-00000000000";

/** A message of this content asks for a streamed answer; anything else comes back as it is. */
export const askForStream = "stream ";
/** Of text: what one token of a streamed answer is. */
export const token = " word";
/** The end of a streamed answer. */
export const lastToken = " the-end";
/** Between two updates of a streamed answer: the same for every server. */
export const updateEveryMs = 112;
/** Between two times that the application writes tokens. */
export const tokensEveryMs = 20;

/** The comparison is of servers that store nothing; `BENCH_STORE=sqlite` measures the file. */
export const storeKind = process.env["BENCH_STORE"] ?? "memory";
