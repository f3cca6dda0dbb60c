// Starts the activity page in the browser.
import { startPage } from "../start.tsx";
import { ActivityPage } from "./page.tsx";

startPage(ActivityPage);
