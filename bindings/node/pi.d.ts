/**
 * Replaces the static methods of pi's `SessionManager`, so that every session of pi is one of Sessile's. Later calls
 * change nothing. Returns whether this call has changed anything.
 *
 * Importing this module does it by itself if the running program is pi's command.
 */
export declare function install(piModule: { SessionManager: unknown }): boolean;
