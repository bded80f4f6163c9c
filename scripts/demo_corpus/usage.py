"""How verbs are used: which deeds are willed, habitual, long remembered, and whose object may be one's own.

Everything here names verbs by their English form; nothing here inflects or draws.
"""

from entries import words

# What happens to people rather than what they do: no modal, no order, no plan.
INVOLUNTARY = words("lose forget break miss see find know love understand need trust remember cry") | {
    "fall asleep",
    "wake up",
    "be interested in",
    "think of",
    "laugh about",
    "dream of",
    "worry about",
    "look forward to",
}
# Deeds that one still speaks of weeks later, or plans weeks ahead.
LASTING = words(
    "buy sell repair visit invite meet lose find build paint translate borrow organise celebrate sign learn cancel write "
    "read photograph change help thank miss bake solve try~on"
) | {"take part in", "talk to", "complain about", "take care of", "look after"}
# Deeds that take weeks.
GREAT = words("build organise")
# Verbs whose object is not yet, or no longer, one's own.
NOT_OWN = words(
    "buy order borrow write build bake paint draw offer learn recommend tell watch take wrap cook sing need try~on "
    "bring~back cut peel answer"
) | {"look forward to", "talk about", "wait for", "dream of", "ask for"}
# What people think and feel all the time: plain present, no adverb.
ATTITUDES = words("know love understand need remember trust") | {"be interested in"}
MISHAPS = words("lose forget break miss")
# What people do again and again, and with which objects ("" for all that the verb selects).
HABITS = {
    "eat": "", "drink": "", "cook": "", "bake": "", "wear": "", "sing": "", "listen to": "", "watch": "shows",
    "buy": "fruits groceries drinks newspaper magazine flower roll", "read": "texts letters", "write": "letters",
    "wash": "", "clean": "", "turn~on": "radio television computer", "turn~off": "radio television computer lamp",
    "call": "kin names known", "visit": "kin names known", "meet": "known kin names", "invite": "", "feed": "",
    "take": "public", "tidy~up": "", "prepare": "mealtimes", "look for": "small mobile_phone", "forget": "small",
    "bring~along": "cake salad wine", "open": "window", "lock": "door car bicycle flat",
    "pick~up": "youngster kin names", "help": "kin names known", "wait for": "people kin names public",
    "talk to": "", "talk on the phone with": "", "think of": "", "dream of": "", "play with": "", "look after": "",
    "complain about": "", "take care of": "", "laugh about": "jokes", "give": "flower toys", "tell": "",
    "bring": "flower drinks", "see": "people kin names", "follow": "animals", "worry about": "kin names",
}  # fmt: skip
