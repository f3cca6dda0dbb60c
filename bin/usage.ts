/** Wrong usage: a sentence for the terminal, exit code 2. */
export class UsageError extends Error {}
