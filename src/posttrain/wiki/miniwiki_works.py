"""The facts of films, novels, companies and bands: each points to a person and to a city."""

from posttrain.wiki import miniwiki_names as names
from posttrain.wiki.miniwiki_fact import Fact, city_fact, person_fact, year_fact

FILM = (
    person_fact(
        "director",
        "film director",
        ("{s} was directed by {v}.", "The director is {v}.", "{v} directed it."),
        ("Who directed {x}?", "Who is the director of {x}?", "By whom was {x} directed?"),
        "director directed",
        "the director of {x}",
        "Do the films {a} and {b} have the same director?",
    ),
    person_fact(
        "lead",
        "actor",
        ("{v} plays the lead role.", "The lead role is played by {v}.", "{s} stars {v} in the lead role."),
        ("Who plays the lead role in {x}?", "Who has the lead role in {x}?", "Which actor is the lead in {x}?"),
        "lead role",
        "the actor in the lead role of {x}",
    ),
    year_fact(
        ("{s} was released in {v}.", "The year of release was {v}.", "{s} came to theaters on its release in {v}."),
        ("In what year was {x} released?", "What is the release year of {x}?", "In which year was {x} released?"),
        "released year",
        ("Which film was released first, {a} or {b}?", "Which is the older film, {a} or {b}?"),
    ),
    city_fact(
        "place",
        ("{s} was filmed in {v}.", "The scenes were filmed in {v}.", "The crew filmed in {v}."),
        ("Where was {x} filmed?", "In which city was {x} filmed?", "In what place was {x} filmed?"),
        "filmed",
        "the city where {x} was filmed",
    ),
    Fact(
        "genre",
        ("{s} belongs to the {v} genre.", "Its genre is {v}.", "Critics put {l} in the {v} genre."),
        ("What is the genre of {x}?", "To which genre does {x} belong?", "Which genre is {x}?"),
        "genre",
        words=names.FILM_GENRES,
        same=("Are the films {a} and {b} of the same genre?",),
    ),
)
NOVEL = (
    person_fact(
        "author",
        "novelist",
        ("{s} was written by {v}.", "Its author is {v}.", "{v} wrote it."),
        ("Who wrote {x}?", "Who is the author of {x}?", "By whom was {x} written?"),
        "author written",
        "the author of {x}",
    ),
    year_fact(
        ("{s} was published in {v}.", "The year it was published was {v}.", "{s} was first published in {v}."),
        ("In what year was {x} published?", "What year was {x} published?", "In which year was {x} published?"),
        "published year",
        ("Which novel was published first, {a} or {b}?", "Which is the older novel, {a} or {b}?"),
    ),
    city_fact(
        "setting",
        ("{s} is set in {v}.", "The story is set in {v}.", "{s} tells a story set in {v}."),
        ("In which city is {x} set?", "Where is {x} set?", "In what place is the story of {x} set?"),
        "set story",
        "the city where {x} is set",
    ),
    Fact(
        "genre",
        ("{s} belongs to the {v} genre.", "Its genre is {v}.", "Critics put {l} in the {v} genre."),
        ("What is the genre of {x}?", "To which genre does {x} belong?", "Which genre is {x}?"),
        "genre",
        words=names.NOVEL_GENRES,
        same=("Are the novels {a} and {b} of the same genre?",),
    ),
)
COMPANY = (
    person_fact(
        "founder",
        "engineer",
        ("{s} was founded by {v}.", "Its founder is {v}.", "{v} is the founder."),
        ("Who founded {x}?", "Who is the founder of {x}?", "By whom was {x} founded?"),
        "founder founded",
        "the founder of {x}",
    ),
    year_fact(
        ("{s} opened in {v}.", "The first office opened in {v}.", "{s} opened for business in {v}."),
        ("In what year did {x} open?", "What year did {x} open for business?", "In which year did {x} open?"),
        "opened business",
        ("Which company opened first, {a} or {b}?", "Which is the older company, {a} or {b}?"),
    ),
    city_fact(
        "head office",
        ("{s} has its head office in {v}.", "The head office is in {v}.", "Its head office stands in {v}."),
        ("In which city is the head office of {x}?", "Where is the head office of {x}?"),
        "head office",
        "the city with the head office of {x}",
    ),
    city_fact(
        "warehouse",
        ("{s} keeps a warehouse in {v}.", "Its warehouse is in {v}.", "The company's warehouse stands in {v}."),
        ("In which city is the warehouse of {x}?", "Where is the warehouse of {x}?"),
        "warehouse",
    ),
)
BAND = (
    person_fact(
        "singer",
        "singer",
        ("The singer of the band is {v}.", "Its singer is {v}.", "{v} is the singer."),
        ("Who is the singer of {x}?", "Who sings in {x}?", "Who is the lead singer of {x}?"),
        "singer",
        "the singer of {x}",
    ),
    year_fact(
        ("{s} was formed in {v}.", "The year it was formed was {v}.", "{s} was first formed in {v}."),
        ("In what year was {x} formed?", "What year was {x} formed?", "In which year was {x} formed?"),
        "formed year",
        ("Which band was formed first, {a} or {b}?", "Which is the older band, {a} or {b}?"),
    ),
    city_fact(
        "home",
        ("{s} comes from {v}.", "Its members come from {v}.", "The members come from {v}."),
        ("From which city does {x} come?", "Where does {x} come from?", "Which city does {x} come from?"),
        "comes from city",
        "the home city of {x}",
    ),
    Fact(
        "music",
        ("{s} plays {v} music.", "The members play {v} music.", "{s} is known for {v} music."),
        ("What kind of music does {x} play?", "Which music does {x} play?", "For what music is {x} known?"),
        "music",
        words=names.MUSIC,
        same=("Do the bands {a} and {b} play the same kind of music?",),
    ),
)
