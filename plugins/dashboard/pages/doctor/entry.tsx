// Starts the doctor page in the browser.
import { startPage } from "../start.tsx";
import { DoctorPage } from "./page.tsx";

startPage(DoctorPage);
