// Overview page.
import { enableChannelSwitch } from "./channel-switch.ts";
import { enableCopying } from "./copy.ts";
import { startPage } from "./page.ts";
import { startFeed } from "./feed.ts";
import { enableProgramRestart } from "./restart-program.ts";
import { showStatus } from "./show-status.ts";
import { enableSignInLink } from "./sign-in-link.ts";

startPage();
enableCopying();
enableSignInLink();
const feed = startFeed(showStatus);
enableChannelSwitch(feed);
enableProgramRestart(feed);
