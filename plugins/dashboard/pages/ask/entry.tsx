// Starts the page of a question in the browser. It works without this script, too.
import { startPage } from "../start.tsx";
import { AskPage } from "./page.tsx";

startPage(AskPage);
