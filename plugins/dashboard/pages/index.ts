// Exports the dashboard pages: pure functions from plain data to complete HTML documents.
export { messagePage } from "./message.ts";
export { setupPage, type SetupFailure } from "./setup.ts";
export { signInPage, type SignInFailure } from "./sign-in.ts";
export { snippets } from "../ui/text/snippets.ts";
export { tokenPlaceholder } from "../ui/text/token-rules.ts";
export type { Site } from "./layout.ts";
export type { TokenWay } from "./ways.ts";
