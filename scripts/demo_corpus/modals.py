"""The modals, and the two English verbs of liking that German says with an adverb (gern, lieber)."""

from entries import Modal

CAN = Modal("can", "could", True, ("kann", "kannst", "kann", "können"), ("konnte", "konntest", "konnte", "konnten"))
MUST = Modal("must", "", True, ("muss", "musst", "muss", "müssen"), None)
HAVE_TO = Modal("have to", "had to", False, MUST.present, ("musste", "musstest", "musste", "mussten"))
MAY_NOT = Modal("must", "", True, ("darf", "darfst", "darf", "dürfen"), None)  # only negated: must not = darf nicht
ALLOWED = Modal("be allowed to", "was allowed to", True, MAY_NOT.present, ("durfte", "durftest", "durfte", "durften"))
SHOULD = Modal("should", "", True, ("sollte", "solltest", "sollte", "sollten"), None)
WANT = Modal(
    "want to",
    "wanted to",
    False,
    ("will", "willst", "will", "wollen"),
    ("wollte", "wolltest", "wollte", "wollten"),
)
WOULD_LIKE = Modal("would like to", "", True, ("möchte", "möchtest", "möchte", "möchten"), None)
LIKE = Modal("like to", "", False, ("", "", "", ""), None, adverb="gern")
PREFER = Modal("prefer to", "", False, ("", "", "", ""), None, adverb="lieber")
MODALS: tuple[Modal, ...] = (CAN, MUST, HAVE_TO, ALLOWED, SHOULD, WANT, WOULD_LIKE, LIKE, PREFER)
