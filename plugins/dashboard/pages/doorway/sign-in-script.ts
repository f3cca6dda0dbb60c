/** Script of the sign-in page: shows the token and counts down rate limits. @module */
import { startCountdown } from "./countdown.ts";
import { enableRevealing } from "./reveal.ts";

enableRevealing();

const form = document.querySelector("[data-sign-in]");
if (form)
  startCountdown({ button: form.querySelector(".primary")!, field: form.querySelector("#token")! });
document.documentElement.dataset["ready"] = "";
