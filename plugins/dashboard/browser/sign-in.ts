// Sign-in page: shows the token and counts down rate limits.
import { enableCountdown } from "./countdown.ts";
import { enableRevealing } from "./reveal.ts";

enableRevealing();

const form = document.querySelector<HTMLFormElement>("[data-sign-in]");
if (form)
  enableCountdown(
    form.querySelector("button.wide"),
    form.querySelector<HTMLInputElement>("#token"),
  );
