// Every member of an observation in which we differ from pi on purpose. `row` is the first column of the row in
// docs/compatibility.md that documents it.

export const differences = [];
