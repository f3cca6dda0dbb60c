// Exports the dashboard pages: pure functions from plain data to complete HTML documents.
export { messagePage, type MessagePage } from "./message.ts";
export { overviewPage, type OverviewPage } from "./overview.ts";
export { setupPage, type SetupFailure, type SetupPage } from "./setup.ts";
export { signInPage, type SignInFailure, type SignInPage } from "./sign-in.ts";
export { snippets, type Snippet } from "./snippets.ts";
export { tokenPlaceholder } from "../ui/text/token-rules.ts";
export type { Site } from "./layout.ts";
export type { TokenWay } from "./ways.ts";
export { chatPage } from "./chat.ts";
export { connectPage, type ConnectPage } from "./connect.ts";
export { connectionsPage } from "./connections.ts";
export { docsPage, type DocsPage } from "./docs.ts";
export { doctorPage } from "./doctor.ts";
export { logPage } from "./log.ts";
export { sessionsPage } from "./sessions.ts";
export { settingsPage } from "./settings.ts";
export { tokensPage } from "./tokens.ts";
export type { SignedInPage } from "./signed-in-page.ts";
