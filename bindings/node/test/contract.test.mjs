// The contract of the class and the exported functions: every case runs on the genuine pi and on this package.

import { classes } from "./cases/class.mjs";
import { differing } from "./cases/differing.mjs";
import { errors } from "./cases/errors.mjs";
import { functions } from "./cases/functions.mjs";
import { identity } from "./cases/identity.mjs";
import { keys } from "./cases/keys.mjs";
import { lists } from "./cases/lists.mjs";
import { privates } from "./cases/privates.mjs";
import { statics } from "./cases/statics.mjs";
import { differences } from "./differences.mjs";
import { runTable } from "./support/table.mjs";

const cases = [...identity, ...keys, ...errors, ...classes, ...statics, ...lists, ...privates, ...functions, ...differing];
await runTable("contract", cases, differences);
