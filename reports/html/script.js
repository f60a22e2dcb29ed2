(() => {
  "use strict";
  // The page is whole without this script: it adds the filter, whose state is the fragment "#?q=...&verdict=...".
  const form = document.getElementById("filter");
  const shown = document.getElementById("shown");
  const fields = [...form.elements].filter((e) => e.name);
  const entries = [...document.querySelectorAll(".problem, .behavior")].map((element) => ({
    element,
    text: element.textContent.toLowerCase(),
    area: element.dataset.area ?? element.parentElement.dataset.area,
    level: element.dataset.level.split(","),
    verdict: element.dataset.verdict.split(","),
  }));
  const areas = [...document.querySelectorAll(".area")];
  const opened = new Map(areas.map((area) => [area, area.open]));
  let filtered = false;

  // apply shows the entries that fit the fields.
  function apply() {
    const want = Object.fromEntries(fields.map((f) => [f.name, f.value.trim()]));
    const words = want.q.toLowerCase().split(/\s+/).filter(Boolean);
    const active = fields.some((f) => f.value.trim() !== "");
    const counts = { behavior: [0, 0], problem: [0, 0] };
    for (const entry of entries) {
      const fits = words.every((word) => entry.text.includes(word)) &&
        (!want.area || entry.area === want.area) &&
        (!want.level || entry.level.includes(want.level)) &&
        (!want.verdict || entry.verdict.includes(want.verdict));
      entry.element.hidden = !fits;
      const count = counts[entry.element.classList.contains("behavior") ? "behavior" : "problem"];
      count[0] += fits ? 1 : 0;
      count[1]++;
    }
    for (const area of areas) {
      area.hidden = active && !area.querySelector(".behavior:not([hidden])");
      if (active) area.open = !area.hidden;
      else if (filtered) area.open = opened.get(area);
    }
    filtered = active;
    document.getElementById("none").hidden = counts.behavior[0] + counts.problem[0] > 0;
    shown.textContent = active
      ? `${counts.behavior[0]} of ${counts.behavior[1]} behaviors` +
        (counts.problem[1] ? `, ${counts.problem[0]} of ${counts.problem[1]} cases that did not pass` : "")
      : "";
  }

  // fromURL takes the fields from the fragment. Other fragments name a place in the page, which is opened.
  function fromURL() {
    if (location.hash.startsWith("#?")) {
      const state = new URLSearchParams(location.hash.slice(2));
      for (const field of fields) field.value = state.get(field.name) ?? "";
      apply();
      return;
    }
    const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (place?.matches("details")) place.open = true;
    place?.scrollIntoView();
  }

  function toURL() {
    const state = new URLSearchParams();
    for (const field of fields) if (field.value.trim()) state.set(field.name, field.value.trim());
    history.replaceState(null, "", state.size ? `#?${state}` : "#");
  }

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => { toURL(); apply(); });
  form.addEventListener("reset", () => setTimeout(() => { toURL(); apply(); }));
  window.addEventListener("hashchange", fromURL);
  for (const button of document.querySelectorAll(".copy")) {
    if (!navigator.clipboard) break;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.previousElementSibling.textContent);
      button.textContent = "Copied";
    });
  }
  fromURL();
})();
