import { createRequire } from "node:module";

/** Version of the installed package. */
export const { version } = createRequire(import.meta.url)("doorward/package.json") as {
  version: string;
};
