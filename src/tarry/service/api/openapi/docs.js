const field = document.querySelector("nav input");
const entries = [...document.querySelectorAll("[data-words]")];
const show = () => {
  const wanted = field.value.toLowerCase().split(/\s+/);
  for (const entry of entries) {
    entry.hidden = !wanted.every((word) => entry.dataset.words.includes(word));
  }
};
const open = () => {
  const entry = location.hash && document.getElementById(location.hash.slice(1));
  if (entry) entry.open = true;
};
field.addEventListener("input", show);
addEventListener("hashchange", open);
open();
