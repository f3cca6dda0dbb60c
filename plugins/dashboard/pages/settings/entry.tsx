// Starts the settings page in the browser.
import { startPage } from "../start.tsx";
import { SettingsPage } from "./page.tsx";

startPage(SettingsPage);
