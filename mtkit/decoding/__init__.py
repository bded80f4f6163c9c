"""Lines to translations: the search (knows no model), models as its step, the translator. Knows no run folders."""
