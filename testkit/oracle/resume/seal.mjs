// The seals of the fake provider. Like a provider's signature, a seal fits one text only.

import { createHmac } from "node:crypto";

/** Seals a text: base64 of 33 bytes, as long as any signature that pi sends. */
export const seal = (text) => Buffer.concat([createHmac("sha256", "the provider's key").update(text).digest(), Buffer.from("!")]).toString("base64");

/** Every thought begins with this, so that a thought in a visible text is noticed. */
export const PRIVATELY = "Privately: ";
