// Managers whose returned values are frozen or copied, and a record of the calls that an agent makes. Each replaces
// methods of the prototype, so it also shows that this has an effect.

/** Replaces every public method of a class: `wrap` gets the original and its name. */
function replaceMethods({ prototype }, wrap) {
  for (const name of Object.getOwnPropertyNames(prototype)) {
    const { value } = Object.getOwnPropertyDescriptor(prototype, name);
    if (typeof value !== "function" || name === "constructor" || name.startsWith("_")) continue;
    prototype[name] = wrap(value, name);
  }
}

function freezeDeep(value, seen = new Set()) {
  if (typeof value !== "object" || value === null || seen.has(value)) return value;
  seen.add(value);
  for (const inner of Object.values(value)) freezeDeep(inner, seen);
  return Object.freeze(value);
}

/** Freezes everything that the methods return, except for the arrays of messages, to which agents append. */
export function freezeAll(Class) {
  replaceMethods(Class, (original, name) => {
    if (name !== "buildSessionProjection" && name !== "buildSessionContext") {
      return function (...args) {
        return freezeDeep(original.apply(this, args));
      };
    }
    return function (...args) {
      const { messages, ...rest } = original.apply(this, args);
      freezeDeep([...messages]);
      return { ...freezeDeep(rest), messages };
    };
  });
}

const copy = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

/** Copies everything on its way in and out, so that no object is the same twice. */
export function cloneAll(Class) {
  replaceMethods(Class, (original) => {
    return function (...args) {
      return copy(original.apply(this, args.map(copy)));
    };
  });
}

/** Counts the calls of the methods by others, not by each other. Returns a function that returns the counts. */
export function recording(Class) {
  const counts = {};
  let depth = 0;
  replaceMethods(Class, (original, name) => {
    return function (...args) {
      if (depth === 0) counts[name] = (counts[name] ?? 0) + 1;
      depth += 1;
      try {
        return original.apply(this, args);
      } finally {
        depth -= 1;
      }
    };
  });
  // The class itself calls this one when it makes an instance.
  return () => ({ ...counts, newSession: undefined });
}
