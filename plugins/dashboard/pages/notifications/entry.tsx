// Starts the page of the notifications in the browser.
import { startPage } from "../start.tsx";
import { NotificationsPage } from "./page.tsx";

startPage(NotificationsPage);
