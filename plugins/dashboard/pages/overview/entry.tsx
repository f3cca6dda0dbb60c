// Starts the overview in the browser.
import { startPage } from "../start.tsx";
import { OverviewPage } from "./page.tsx";

startPage(OverviewPage);
