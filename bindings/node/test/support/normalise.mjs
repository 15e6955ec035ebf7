// Makes two runs comparable: ids, times, durations and folders of a run become names.

import assert from "node:assert/strict";

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const STAMP = /\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;
const DATE = /\b20\d\d-[01]\d-[0-3]\d\b/g;
const MILLISECONDS = /\b1[6-9]\d{11}(?:\.\d+)?\b/g;
const ENTRY_ID = /\b[0-9a-f]{8}\b/g;
const DURATION = /(\\*"(?:durationMs|wall_time_seconds)\\*":\s?)\d+(?:\.\d+)?/g;

/**
 * Returns a function that normalises texts of one run. An id becomes its number in the order of appearance, so ids that
 * refer to each other stay comparable; call it on the same texts in the same order. `folders` maps folders to names.
 */
export function normaliser(folders = {}, { keepTimes = false } = {}) {
  const known = new Map();
  const numbered = (kind) => (id) => {
    if (!known.has(id)) known.set(id, `<${kind} ${known.size + 1}>`);
    return known.get(id);
  };
  const names = Object.entries(folders)
    .flatMap(([folder, name]) => [
      [folder, name],
      // As part of the name of a session directory.
      [folder.replace(/^[/\\]/, "").replace(/[/\\:]/g, "-"), name],
    ])
    .sort(([a], [b]) => b.length - a.length);
  return (text) => {
    let normal = text;
    for (const [folder, name] of names) normal = normal.replaceAll(folder, name);
    normal = normal.replace(UUID, numbered("uuid"));
    if (!keepTimes) {
      normal = normal.replace(STAMP, "<stamp>").replace(TIME, "<time>").replace(DATE, "<date>").replace(MILLISECONDS, "<ms>");
    }
    return normal.replace(ENTRY_ID, numbered("id")).replace(DURATION, "$1<duration>");
  };
}

/** Normalises the strings and times in a value; keeps `undefined`, dates and the order of keys. */
export function normaliseValue(value, normal) {
  if (typeof value === "string") return normal(value);
  if (typeof value === "number") return value > 1.6e12 && value < 2e12 ? "<ms>" : value;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "<invalid date>" : "<date>";
  if (Array.isArray(value)) return value.map((inner) => normaliseValue(inner, normal));
  if (typeof value !== "object" || value === null) return value;
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [normal(key), normaliseValue(inner, normal)]));
}

/** Compares lists of lines, and reports the first difference only. */
export function assertSameLines(own, expected, what) {
  for (const [index, line] of expected.entries()) assert.equal(own[index], line, `${what}, line ${index + 1}`);
  assert.equal(own.length, expected.length, `${what}, number of lines`);
}
