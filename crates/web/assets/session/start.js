// Starts the page.

try {
  const theme = localStorage.getItem("sessile:theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch {}
Page.open(JSON.parse($("index").textContent))
  .then((page) => features.forEach((add) => add(page)))
  .catch((error) => {
    $("status").textContent = `This page cannot show the session: ${error.message}`;
  })
  .finally(() => document.documentElement.classList.add("ready"));
