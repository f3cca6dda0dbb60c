// Starts the clients page in the browser.
import { startPage } from "../start.tsx";
import { ClientsPage } from "./page.tsx";

startPage(ClientsPage);
