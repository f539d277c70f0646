// Tables that are sorted by a click on a heading.

for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.querySelectorAll("th")];
  const body = table.querySelector("tbody");
  headings.forEach((heading, column) => {
    heading.addEventListener("click", () => {
      const rising = heading.getAttribute("aria-sort") !== "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const numeric = heading.classList.contains("number");
      const value = (row) => row.cells[column].dataset.value ?? "";
      const rows = [...body.rows];
      rows.sort((one, other) => {
        const [first, second] = [value(one), value(other)];
        // What is missing comes last either way.
        if (first === "" || second === "") return (first === "") - (second === "");
        const order = numeric ? first - second : first.localeCompare(second);
        return rising ? order : -order;
      });
      body.append(...rows);
    });
  });
}
