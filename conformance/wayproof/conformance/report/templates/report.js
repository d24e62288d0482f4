"use strict";
// The page is whole without this; here it gets its filter, and links open what they point into.
(() => {
  const search = document.getElementById("search");
  const shown = document.getElementById("shown");
  const buttons = [...document.querySelectorAll("button[data-tone]")];
  const items = [...document.querySelectorAll(".item")].map((node) => ({
    node,
    tone: node.dataset.tone,
    text: node.textContent.toLowerCase(),
  }));
  const groups = [...document.querySelectorAll(".group")];
  const open = new Map(groups.map((group) => [group, group.open]));

  function apply() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const tones = buttons.filter((b) => b.getAttribute("aria-pressed") === "true").map((b) => b.dataset.tone);
    const active = words.length > 0 || tones.length > 0;
    let vectors = 0;
    let clauses = 0;
    for (const { node, tone, text } of items) {
      const fits = (!tones.length || tones.includes(tone)) && words.every((word) => text.includes(word));
      node.hidden = !fits;
      if (fits && node.id.startsWith("clause-")) clauses += 1;
      else if (fits) vectors += 1;
    }
    for (const group of groups) {
      const some = group.querySelector(".item:not([hidden])") !== null;
      group.hidden = !some;
      group.open = active ? some : open.get(group);
    }
    shown.textContent = active ? `shown: ${vectors} that did not pass, ${clauses} ${clauses === 1 ? "clause" : "clauses"}` : "";
  }

  function reveal() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !target.closest("main")) return;
    if (target.closest("[hidden]")) reset();
    for (let node = target; node; node = node.parentElement) if (node.matches("details")) node.open = true;
    target.scrollIntoView();
  }

  function reset() {
    search.value = "";
    for (const button of buttons) button.setAttribute("aria-pressed", "false");
    apply();
  }

  search.addEventListener("input", apply);
  document.getElementById("filter").addEventListener("submit", (event) => event.preventDefault());
  for (const button of buttons) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      apply();
    });
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-search]");
    if (!link) return;
    reset();
    search.value = link.dataset.search;
    apply();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== search) {
      event.preventDefault();
      search.focus();
    } else if (event.key === "Escape") {
      reset();
    }
  });
  window.addEventListener("hashchange", reveal);
  if (location.hash) reveal();
})();
