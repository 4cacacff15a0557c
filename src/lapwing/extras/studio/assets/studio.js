// What pages cannot do without a script: show work as it goes, a plan as a slider moves, and take a file.
// It asks this server alone, and puts in the page what the server's own templates made.
"use strict";

// Return what the server says, or nothing, while the page tells that it does not answer.
async function said(address, request) {
  const lost = document.querySelector("#lost");
  try {
    const found = await fetch(address, request);
    const text = await found.text();
    lost.hidden = true;
    return { ok: found.ok, text };
  } catch {
    lost.hidden = false;
    return null;
  }
}

// Put into a place what a template made, or the words of a refusal; what has the focus keeps it.
function show(place, found) {
  const focus = place.contains(document.activeElement) ? document.activeElement.id : "";
  if (found.ok) {
    if (place.innerHTML !== found.text) place.innerHTML = found.text;
  } else {
    const page = new DOMParser().parseFromString(found.text, "text/html");
    place.textContent = (page.querySelector(".refusal") || page.body).textContent.trim();
  }
  if (focus) document.getElementById(focus)?.focus();
}

// <div data-watch="/job/x/release/work">: replaced by what that address gives, each second, until it has data-done.
// With data-then the page is loaded again at the end.
async function watch(place) {
  for (;;) {
    await new Promise((next) => setTimeout(next, 1000));
    const found = await said(place.dataset.watch);
    if (!found) continue;
    show(place, found);
    if (!found.ok) return;
    if (place.querySelector("[data-done]")) {
      if ("then" in place.dataset) location.reload();
      return;
    }
  }
}

// <form data-live="#place" action="/job/x/plan/shown">: what its fields say is sent as they change, the answer shown.
function live(form) {
  const place = document.querySelector(form.dataset.live);
  let last = 0;
  let timer = 0;
  async function ask() {
    const mine = ++last;
    const found = await said(form.dataset.at || form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    if (found && mine === last) show(place, found);
  }
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, 60);
  });
}

// <input type="range" data-for="#epsilon" data-values="0.01 0.1 1">: a slider that writes one of the values there.
function slide(range) {
  const target = document.querySelector(range.dataset.for);
  const values = range.dataset.values.split(" ");
  const set = () => range.setAttribute("aria-valuetext", `ε ${target.value}`);
  range.addEventListener("input", () => {
    target.value = values[Number(range.value)];
    set();
  });
  target.addEventListener("input", () => {
    const near = values.findIndex((each) => Number(each) >= Number(target.value));
    range.value = near < 0 ? values.length - 1 : near;
    set();
  });
}

// <form data-upload="/upload" data-key="...">: the file goes as the body of one request, its name in a header.
function upload(form) {
  const status = form.querySelector("[data-status]");
  form.querySelector("[data-field]").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    status.textContent = "…";
    const headers = { "x-form-key": form.dataset.key, "x-name": encodeURIComponent(file.name), "content-type": "application/octet-stream" };
    const found = await said(form.dataset.upload, { method: "POST", body: file, headers });
    if (found?.ok) location.reload();
    else status.textContent = found ? found.text.trim() : "";
  });
}

// <select data-opens="#list" data-when="string">: opens what belongs to that choice once it is made.
function opens(select) {
  select.addEventListener("change", () => {
    if (select.value === select.dataset.when) document.querySelector(select.dataset.opens).open = true;
  });
}

document.querySelectorAll("[data-opens]").forEach(opens);
document.querySelectorAll("[data-watch]").forEach(watch);
document.querySelectorAll("[data-live]").forEach(live);
document.querySelectorAll("[data-for]").forEach(slide);
document.querySelectorAll("[data-upload]").forEach(upload);
