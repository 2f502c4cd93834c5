"""The facts of people and places, the two-hop chains, and all facts by kind."""

from posttrain.wiki import miniwiki_names as names
from posttrain.wiki.miniwiki_fact import Fact, city_fact, person_fact, year_fact
from posttrain.wiki.miniwiki_works import BAND, COMPANY, FILM, NOVEL

PERSON = (
    city_fact(
        "birth city",
        ("{s} was born in {v}.", "{P} birthplace is {v}.", "The city of {v} is where {l} was born."),
        ("In which city was {x} born?", "What is the birthplace of {x}?", "Where was {x} born?"),
        "born birthplace",
    ),
    Fact(
        "birth year",
        ("{s} was born in the year {v}.", "The year of {p} birth is {v}.", "{P} birth year is {v}."),
        ("In what year was {x} born?", "What is the birth year of {x}?", "In which year was the birth of {x}?"),
        "birth year",
        span=(1880, 1990),
        more=("Who was born first, {a} or {b}?", "Who is older, {a} or {b}?", "Who was born earlier, {a} or {b}?"),
    ),
    Fact(
        "university",
        (
            "{s} studied at {v}.",
            "{s} is a graduate of {v}.",
            "As a student {l} attended {v}.",
            "{s} has studied at {v}.",
        ),
        ("Where did {x} study?", "At which school did {x} study?", "Which school did {x} attend as a student?"),
        "studied student graduate",
        link="university",
        same=("Did {a} and {b} study at the same school?", "Are {a} and {b} graduates of the same school?"),
    ),
    city_fact(
        "later home",
        ("{s} later moved to {v}.", "{s} moved to {v} later in life.", "Later in life {l} moved to {v}."),
        ("To which city did {x} move?", "Where did {x} move later in life?", "Which city did {x} later move to?"),
        "later moved",
    ),
    Fact(
        "instrument",
        ("{s} plays the {v}.", "At home {l} plays the {v}.", "{P} favorite instrument is the {v}."),
        ("Which instrument does {x} play?", "What is the instrument of {x}?", "What instrument does {x} play at home?"),
        "plays instrument",
        words=names.INSTRUMENTS,
    ),
)


UNIVERSITY = (
    city_fact(
        "city",
        ("{s} stands in the city of {v}.", "Its students live in the city of {v}.", "Its city is {v}."),
        ("In which city is {x}?", "In which city does {x} stand?"),
        "city",
        "the city of {x}",
    ),
    year_fact(
        ("{s} was founded in {v}.", "The year it was founded was {v}.", "{s} dates from its founding in {v}."),
        ("In what year was {x} founded?", "What is the founding year of {x}?", "In which year was {x} founded?"),
        "founded year",
        ("Which school was founded first, {a} or {b}?", "Which is the older school, {a} or {b}?"),
        1700,
    ),
    person_fact(
        "president",
        "professor",
        ("Its president is {v}.", "The president of the school is {v}.", "{v} is the president."),
        ("Who is the president of {x}?", "Which professor is the president of {x}?"),
        "president",
        "the president of {x}",
    ),
    Fact(
        "mascot",
        ("Its mascot is the {v}.", "The mascot of the school is the {v}.", "The school mascot is the {v}."),
        ("What is the mascot of {x}?", "Which animal is the mascot of {x}?", "What animal is the mascot of {x}?"),
        "mascot animal",
        words=names.ANIMALS,
        same=("Do {a} and {b} have the same mascot?",),
    ),
)
CITY = (
    Fact(
        "country",
        ("{s} belongs to the country of {v}.", "The city lies in the country of {v}.", "Its country is {v}."),
        ("In which country is {x}?", "To which country does {x} belong?", "In what country is {x}?"),
        "country",
        words=names.COUNTRIES,
        same=("Are {a} and {b} in the same country?", "Do {a} and {b} belong to the same country?"),
    ),
    Fact(
        "river",
        ("{s} stands on {v}.", "{v} flows through the city.", "The city stands on {v}."),
        ("Which river flows through {x}?", "On which river does {x} stand?", "What river flows through {x}?"),
        "river flows",
        link="river",
    ),
    Fact(
        "goods",
        ("{s} is known for its {v}.", "Traders know it for its {v}.", "The city is known for its {v}."),
        ("For which product is {x} known?", "What product is {x} known for?", "Which product is {x} known for?"),
        "known product",
        words=names.GOODS,
    ),
    Fact(
        "population",
        ("{s} has {v} people.", "Its population is {v} people.", "The city is home to {v} people."),
        ("How many people live in {x}?", "What is the population of {x}?", "How many people does {x} have?"),
        "population people",
        span=(21, 4000),
        form="{}00",
        more=("Which city has more people, {a} or {b}?", "Which city is larger, {a} or {b}?"),
        highest=True,
    ),
    Fact(
        "charter",
        ("{s} received its charter in {v}.", "Its charter dates from {v}.", "The city charter dates from {v}."),
        ("In what year did {x} receive its charter?", "What is the year of the charter of {x}?"),
        "charter",
        span=(1100, 1899),
        more=("Which city received its charter first, {a} or {b}?",),
    ),
)
RIVER = (
    Fact(
        "length",
        ("{s} is {v} long.", "Its length is {v}.", "{s} has a length of {v}."),
        ("How long is {x}?", "What is the length of {x}?"),
        "length long",
        span=(30, 1900),
        form="{} km",
        more=("Which is longer, {a} or {b}?", "Which river is longer, {a} or {b}?"),
        highest=True,
    ),
    city_fact(
        "mouth",
        ("{s} meets the sea at {v}.", "It reaches the sea at {v}.", "The river meets the sea at {v}."),
        ("At which city does {x} meet the sea?", "Where does {x} meet the sea?"),
        "sea",
    ),
    Fact(
        "source",
        ("{s} rises in the hills of {v}.", "It starts in the hills of {v}.", "The source is in the hills of {v}."),
        ("In the hills of which country does {x} rise?", "In which country does {x} start?"),
        "hills source",
        words=names.COUNTRIES,
    ),
)
FACTS = {
    "city": CITY,
    "river": RIVER,
    "university": UNIVERSITY,
    "person": PERSON,
    "film": FILM,
    "novel": NOVEL,
    "company": COMPANY,
    "band": BAND,
}
# Two-hop questions go from a thing by its link to the facts of what is linked.
_ABOUT_PEOPLE = ("birth city", "birth year", "university", "later home", "instrument")
CHAINS = (
    ("film", "director", _ABOUT_PEOPLE),
    ("film", "lead", _ABOUT_PEOPLE),
    ("novel", "author", _ABOUT_PEOPLE),
    ("company", "founder", _ABOUT_PEOPLE),
    ("band", "singer", _ABOUT_PEOPLE),
    ("university", "president", _ABOUT_PEOPLE),
    ("film", "place", ("goods", "population")),
    ("novel", "setting", ("charter", "river")),
    ("company", "head office", ("river", "goods")),
    ("band", "home", ("country", "charter")),
    ("university", "city", ("river", "population")),
)
