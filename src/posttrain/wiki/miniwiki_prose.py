"""Sentences without facts: how paragraphs open, and what fills a short one."""

INTROS = {
    "city": ("{n} is a city.", "{n} is an old city with a busy market.", "The city of {n} has a long history."),
    "river": ("{n} is a river.", "{n} is a river with many bends.", "{n} is a river that farmers use."),
    "university": ("{n} is a school of higher learning.", "{n} is a university with a large library."),
    "person": (
        "{n} is {o}.",
        "{n} works as {o}.",
        "{n} is {o} with a long career.",
        "{n} has worked for years as {o}.",
    ),
    "film": ("{n} is a film.", "{n} is a feature film.", "The film {n} was a small production."),
    "novel": ("{n} is a novel.", "{n} is a novel in three parts.", "The novel {n} found many readers."),
    "company": ("{n} is a company.", "{n} is a family company.", "The company {n} sells to many countries."),
    "band": ("{n} is a band.", "{n} is a band with five members.", "The band {n} has played many concerts."),
}
# Padding that keeps every paragraph at 30 words or more; it holds no fact that a question asks about.
ASIDES = {
    "city": ("Its old streets are narrow, and a fair is held there every autumn.", "Visitors come for the old walls."),
    "river": ("Boats carry stone and timber on it for most of the year.", "In spring its banks are often under water."),
    "university": ("The library is open to everyone, and the lectures are well attended.", "It has a large garden."),
    "person": ("Friends describe a calm and careful worker.", "Several newspapers have printed long interviews."),
    "film": ("Reviews were mixed, but the costumes were praised.", "The music was recorded by a small orchestra."),
    "novel": ("Reviews praised the slow opening and the surprising end.", "It has been translated several times."),
    "company": ("Most of its workers live nearby and walk to work.", "It has survived two great fires."),
    "band": ("The group tours every summer and records every winter.", "Its concerts are short and loud."),
}
