// Starts the security page in the browser.
import { startPage } from "../start.tsx";
import { SecurityPage } from "./page.tsx";

startPage(SecurityPage);
