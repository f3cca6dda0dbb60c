import { enableChannelSwitch } from "./channel-switch.ts";
import { enableCopying } from "./copy.ts";
import { startDesk } from "./desk.ts";
import { startFeed } from "./feed.ts";
import { showStatus } from "./show-status.ts";
import { enableSignInLink } from "./sign-in-link.ts";

startDesk();
enableCopying();
enableSignInLink();
enableChannelSwitch(startFeed(showStatus));
