// Starts the chat in the browser.
import { startPage } from "../start.tsx";
import { ChatPage } from "./page.tsx";

startPage(ChatPage);
