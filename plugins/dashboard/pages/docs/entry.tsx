// Starts a documentation page in the browser.
import { startPage } from "../start.tsx";
import { DocsPage } from "./page.tsx";

startPage(DocsPage);
