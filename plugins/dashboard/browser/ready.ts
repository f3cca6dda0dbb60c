/** Module scripts run before this event: from now on every control that needs one does what it says. Until then the
 *  style sheet lets no click reach such a control, for it would be lost. */
document.addEventListener("DOMContentLoaded", () => {
  document.documentElement.dataset["ready"] = "";
});
