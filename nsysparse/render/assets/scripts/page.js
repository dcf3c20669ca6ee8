// Helpers of the page. Everything stands without scripts; they add sorting, copying, a closer look and zoom.
// Text reaches the page by textContent only.
const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));
const one = (selector, root) => (root || document).querySelector(selector);
const token = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const say = (text) => { one("#live").textContent = text; };
const make = (tag, look, text) => {
  const made = document.createElement(tag);
  if (look) made.className = look;
  if (text !== undefined) made.textContent = text;
  return made;
};
const draw = (tag, attributes, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  Object.entries(attributes).forEach(([name, value]) => made.setAttribute(name, value));
  made.append(...children);
  return made;
};
const data = (id) => JSON.parse(document.getElementById(id).textContent);
const redraws = []; // figures whose colours and type come from the theme

const systemDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme || (systemDark.matches ? "dark" : "light")) === "dark";
const repaint = () => redraws.forEach((each) => each());
systemDark.addEventListener("change", repaint);
one(".theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  try { localStorage.setItem("nsysparse-theme", document.documentElement.dataset.theme); } catch (refused) { /* as above */ }
  say(isDark() ? "dark" : "light");
  repaint();
});
