"""Every sentence pattern with the number of pairs it is asked for."""

from collections.abc import Callable

import belongings
import descriptions
import main_clauses
import outings
import questions
import relatives_and_infinitives
import subordinate_clauses
from draws import Draw
from sentences import SentencePair

Pattern = Callable[[Draw], SentencePair]

PATTERNS: tuple[tuple[Pattern, int], ...] = (
    (main_clauses.habit, 1310),
    (main_clauses.attitude, 700),
    (main_clauses.past, 1560),
    (main_clauses.future, 1070),
    (main_clauses.going_to, 900),
    (main_clauses.progressive, 1070),
    (main_clauses.negated, 1230),
    (main_clauses.modal_present, 1310),
    (main_clauses.modal_negated, 820),
    (main_clauses.modal_past, 820),
    (main_clauses.liking, 740),
    (main_clauses.giving, 1150),
    (outings.motion, 1070),
    (outings.by_means, 740),
    (outings.at_place, 980),
    (outings.scene, 980),
    (outings.timetable, 740),
    (outings.daily_routine, 740),
    (outings.room_number, 410),
    (main_clauses.everyday_reflexive, 410),
    (outings.since, 490),
    (main_clauses.pastime, 400),
    (main_clauses.opener, 570),
    (main_clauses.shared_subject, 490),
    (descriptions.is_so, 1390),
    (descriptions.is_person_so, 570),
    (descriptions.tasting, 200),
    (descriptions.but_it, 740),
    (belongings.cannot_find_it, 410),
    (descriptions.comparison, 980),
    (belongings.having, 820),
    (belongings.family, 330),
    (belongings.being_somewhere, 1230),
    (belongings.putting, 740),
    (belongings.hanging, 250),
    (belongings.price, 2130),
    (belongings.belonging, 490),
    (descriptions.owner, 570),
    (descriptions.part_of, 410),
    (questions.yes_no, 1230),
    (questions.yes_no_motion, 410),
    (questions.what, 410),
    (questions.who, 570),
    (questions.where, 660),
    (questions.when, 570),
    (questions.why, 490),
    (questions.how_much, 250),
    (questions.how_many, 410),
    (questions.which, 570),
    (questions.request, 740),
    (subordinate_clauses.because_feeling, 740),
    (subordinate_clauses.because_plan, 740),
    (subordinate_clauses.because_needed, 330),
    (subordinate_clauses.that_clause, 980),
    (subordinate_clauses.whether, 570),
    (subordinate_clauses.if_clause, 900),
    (relatives_and_infinitives.purpose, 740),
    (relatives_and_infinitives.trying, 490),
    (relatives_and_infinitives.important, 330),
    (relatives_and_infinitives.relative_subject, 740),
    (relatives_and_infinitives.relative_object, 570),
    (subordinate_clauses.therefore, 490),
)
