// The dot that shows the status of a session. The server says which status follows when.

const DOT_MS = 500;

/** Gives a dot its status, and those that follow as time passes: `[[word, milliseconds, meaning], …]`. */
function setCourse(dot, course) {
  dot.dataset.course = JSON.stringify(course);
  dot.begun = Date.now();
  drawDot(dot);
}

function drawDot(dot) {
  // A dot that the server drew begins when the script first sees it.
  dot.begun ??= Date.now();
  const course = JSON.parse(dot.dataset.course);
  const [word, , meaning] = course.findLast(([, wait]) => Date.now() - dot.begun >= wait) ?? course[0];
  if (word === course.at(-1)[0]) delete dot.dataset.course;
  if (dot.dataset.status === word && dot.title === meaning) return;
  dot.dataset.status = word;
  dot.title = meaning;
  dot.setAttribute("role", "img");
  dot.setAttribute("aria-label", meaning);
}

setInterval(() => document.querySelectorAll(".dot[data-course]").forEach(drawDot), DOT_MS);
