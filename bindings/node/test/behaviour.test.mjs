// Behaviour that pi's own tests fix. The genuine pi 1.5.0 passes all of it, and so must we, including three of pi's
// tests that fail with pi 1.5.0 itself: the cases named "expected failure".

import { behaviour } from "./cases/behaviour.mjs";
import { runTable } from "./support/table.mjs";

await runTable("behaviour", behaviour);
