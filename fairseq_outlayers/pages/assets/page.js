// What every page has: elements made of text, and the choice between light and dark.

const find = (selector) => document.querySelector(selector);

// An element with attributes; children are elements or text, never HTML.
function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== undefined && value !== null && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

{
  const button = find("#theme");
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try {
    chosen = localStorage.getItem("theme");
  } catch {
    // A page opened from a file may have no storage.
  }
  const isDark = () => (chosen ? chosen === "dark" : system.matches);
  const apply = () => {
    if (chosen) root.dataset.theme = chosen;
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colors`);
  };
  button.addEventListener("click", () => {
    chosen = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("theme", chosen);
    } catch {
      // It lasts until the page is closed.
    }
    apply();
  });
  system.addEventListener("change", apply);
  button.hidden = false;
  apply();
}
