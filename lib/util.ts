/** `2026-11-22 07:14:39 UTC`, of Unix milliseconds. */
export const formatUtc = (at: number): string =>
  `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;
