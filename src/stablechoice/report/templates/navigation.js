// Contents: the link of the section in view is marked.
(() => {
  const links = new Map();
  for (const link of document.querySelectorAll(".contents > ul > li > a")) {
    links.set(document.getElementById(link.hash.slice(1)), link);
  }
  function mark() {
    let current = null;
    for (const section of links.keys()) {
      if (section.getBoundingClientRect().top < window.innerHeight / 3) current = section;
    }
    for (const [section, link] of links) {
      if (section === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }
  let waiting = false;
  window.addEventListener(
    "scroll",
    () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        mark();
      });
    },
    { passive: true },
  );
  mark();
})();
