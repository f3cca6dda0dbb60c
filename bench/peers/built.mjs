// The built plugins that hosts of the benchmarks share.

/** Imports a built plugin. */
export const built = (/** @type {string} */ name) =>
  import(new URL(`../../dist/${name}/index.js`, import.meta.url).href);

/** @type {typeof import("../../kernel/index.ts")} */
export const { createKernel } = await built("kernel");
/** @type {typeof import("../../plugins/token-store/index.ts")} */
export const { memory, tokenStore } = await built("plugins/token-store");
/** @type {typeof import("../../plugins/channels/index.ts")} */
export const { application, channels } = await built("plugins/channels");
/** @type {typeof import("../../plugins/http/index.ts")} */
export const { http } = await built("plugins/http");
/** @type {typeof import("../../plugins/pico-server/index.ts")} */
export const { picoServer } = await built("plugins/pico-server");
