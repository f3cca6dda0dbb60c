/** The dashboard's pages: functions from plain data to complete HTML documents. They read nothing and keep nothing. */
export { messagePage, type MessagePage } from "./message.ts";
export { overviewPage, type OverviewPage } from "./overview.ts";
export { setupPage, type SetupFailure, type SetupPage } from "./setup.ts";
export { signInPage, type SignInFailure, type SignInPage } from "./sign-in.ts";
export { snippets, tokenPlaceholder, type Snippet } from "./snippets.ts";
export type { Site } from "./layout.ts";
export type { TokenWay } from "./ways.ts";
