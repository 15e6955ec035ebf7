# %% Reads your own sessions; with a directory as argument, a made-up store that is written there.
import sys

import sessile

store = sessile.Store.sample(sys.argv[1]) if len(sys.argv) > 1 else sessile.Store()

# %% The most expensive sessions of the last month
for info in store.list(since="30d", sort="cost", limit=3):
    print(f"${info.cost:.3f}  {info.messages:3} messages  {info.name or info.first_message!r}")

# %% The cost of each model per day; .to_pandas() makes it a DataFrame
for row in store.stats(by=["day", "model"]).rows():
    print(f"{row['day']}  {row['model']:28} ${row['cost']:.3f}")

# %% What was asked on the current branch, and what a model would see next
with store.open("@latest", read_only=True) as session:
    for entry in session.branch(roles="user"):
        print(entry.time, repr(entry.text()[:60]))
    print(len(session), "entries,", len(session.branches()), "branches,", len(session.context().messages), "messages")
