// Starts the page of the connections in the browser.
import { startPage } from "../start.tsx";
import { ConnectionsPage } from "./page.tsx";

startPage(ConnectionsPage);
