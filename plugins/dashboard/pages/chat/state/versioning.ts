/** The code for versions of messages, which loads after the page. @module */
import { later } from "../../live/later.ts";

export const versioning = later(() => import("./versions.ts"));
