"use strict";
// The package for require(). It is also what index.mjs exports, so both give the same class.

const entries = require("./lib/entries.cjs");
const { SessionManager } = require("./lib/manager.cjs");
const { configure, findMostRecentSession, getDefaultSessionDir, loadEntriesFromFile } = require("./lib/opening.cjs");

module.exports = {
  CURRENT_SESSION_VERSION: entries.CURRENT_SESSION_VERSION,
  SessionManager,
  assertValidSessionId: entries.assertValidSessionId,
  buildContextEntries: entries.buildContextEntries,
  buildSessionContext: entries.buildSessionContext,
  buildSessionProjection: entries.buildSessionProjection,
  configure,
  findMostRecentSession,
  getDefaultSessionDir,
  getLatestCompactionEntry: entries.getLatestCompactionEntry,
  loadEntriesFromFile,
  migrateSessionEntries: entries.migrateSessionEntries,
  parseSessionEntries: entries.parseSessionEntries,
  projectContextEntry: entries.projectContextEntry,
  sessionEntryToContextMessages: entries.sessionEntryToContextMessages,
};
