"""Words of which the generated world's names are made: plain English, few tokens each."""

import random
from collections.abc import Sequence


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Even places are women's names, odd places men's, so that the pronoun follows from the index.
FIRST_NAMES = _words(
    """Anna Peter Clara Thomas Helen Martin Laura Simon Nora Walter Julia Victor Alice Henry Emma Oscar Rosa Felix
    Irene Hugo Marta Leon Diana Adam Ruth Paul Vera Frank Ellen Ivan Grace Carl Lucy Edgar Sonia Bruno Maria
    Daniel Hannah Robert Iris Samuel Olga David Carol Arthur Eva George Nina Philip Sarah Jacob Molly Albert
    Stella Conrad Paula Erik June Oliver Wanda Ralph Greta Anton Celia Louis Amy Gordon Flora Hector Linda
    Marcus Ada Stefan Joan Edwin Tessa Leo Sylvia Rupert Monica Gilbert Petra Jonas Agnes Harold Judith Magnus
    Lydia Norman Marion Ernest Elsa Vincent Kate Patrick Mabel Roland Ingrid Theo Naomi Warren Olive Xavier
    Pearl Julian Rita Stuart Esther Neil Dora Howard Camilla Douglas Phoebe Lionel Audrey Max"""
)
SURNAMES = _words(
    """Holt Mercer Vance Barlow Finch Garrett Keller Lowe Marsh Novak Palmer Quinn Reeves Sutton Tate Underhill Voss
    Walsh Yates Archer Bishop Carver Dalton Ellis Foster Graves Hayes Irving Jensen Kemp Lambert Morrow North
    Osborn Porter Rhodes Shaw Turner Vaughn Webb York Abbott Baker Chase Drake Emery Fisher Grant Hale Ingram
    Joyce Knight Lane Mason Nash Owens Price Ramsey Stone Thorne Upton Vernon Wade Young Adler Bennett Cross
    Doyle Everett Flynn Gibson Harper Hunt Jarvis Kane Lucas Miller Noble Parker Ross Slater Tyler Weaver
    Winters Baxter Cole Dunn Farrell Gates Hobbs Klein Lang Moss Neal Page Rowe Sharp Todd Ward Blake Boyd Burke
    Clay Crane Dean Frost Glass Hart Hudson Kerr Logan Maddox Norris Perry Pike Riley Savage Sterling Summers
    Trent Wolfe"""
)
STEMS = _words(
    """Ash Birch Black Bright Brook Clear Cold Copper Corn Crow Dale Deep Dun East Elm Fair Fern Field Fox Glen Gold
    Good Gray Green Grove Harbor Hawk Hazel Heather High Hill Holly Honey Iron Ivy King Lake Lamb Lark Lime
    Linden Little Long Maple Meadow Mid Mill Moon Moor Morning New Oak Old Orchard Otter Park Pine Plum Pond
    Queen Rain Raven Red Reed Ring Rock Rose Salt Sand Sea Shell Silver Snow South Spring Star Still Stone Storm
    Summer Sun Swan Thorn Timber Tin Town Vine Wald Water West Whale White Wild Willow Wind Winter Wolf Wood"""
)
SURNAME_ENDS = _words("man son smith well worth by ley ridge house bank gate ward lock shaw cott more")
CITY_ENDS = _words(
    """ford port haven bridge ville burg ton field bury mouth wick stead cliff dale view crest moor land side chester
    minster hampton pool cross market hall green point ham gard"""
)
RIVER_ENDS = _words("water beck burn run flow bourne wash stream brook rill")
SIDES = ("", *_words("North South East West Port Lake Upper Lower"))
ADJECTIVES = _words(
    """Copper Silver Golden Silent Broken Hidden Distant Crimson Hollow Frozen Burning Velvet Paper Glass Wooden Iron
    Empty Secret Lonely Gentle Restless Faded Bitter Sweet Quiet Wild Narrow Crooked Pale Dark Bright Blue Green
    Scarlet White Black Amber Ancient Second Last First Lost Stolen Borrowed Painted Sleeping Flying Falling
    Rising Floating Patient Clever Careless Humble Proud Curious Honest Tender Stubborn Northern Southern
    Eastern Western Winter Summer Autumn Spring Midnight Morning Evening Marble Stone Salt Sugar Smoky Dusty
    Rusty Rainy Stormy Windy Sunny Foggy Thirsty Hungry Nervous Perfect Common Foreign Royal Modern Final
    Endless Shallow Heavy Sudden Simple Shining"""
)
NOUNS = _words(
    """Lantern Orchard Garden Bridge Harbor River Mirror Window Door Key Letter Map Clock Bell Tower Castle Island
    Mountain Valley Forest Desert Ocean Storm Shadow Candle Fire Feather Stone Crown Ring Sword Shield Ship
    Train Road Station Hotel Market Kitchen Library School Museum Theater Circus Factory Mill Farm Barn Field
    Meadow Well Fountain Statue Painting Violin Piano Drum Song Dance Dream Promise Secret Lesson Journey Winter
    Summer Song Moon Star Planet Cloud River Snowfall Horizon Thief Sailor Soldier Doctor Teacher Gardener Baker
    Painter Dancer Stranger Neighbor Daughter Brother Sister Captain Queen King Prince Judge Witness Visitor
    Guest Widow Orphan Hunter Pilgrim Fisherman Shepherd Tailor Barber Clerk Prisoner Horse Wolf Fox Bear Raven
    Owl Swan Sparrow Falcon Turtle Spider Tiger Lion Rabbit Whale Rose Tulip Daisy Lily Apple Pear Cherry Lemon
    Almond Pepper Honey Bread Coffee Umbrella Suitcase Coat Glove Button Needle Thread Carpet Ladder Hammer
    Anchor Compass Telescope Engine Wheel Wagon Balloon Kite"""
)
NOUNS = tuple(dict.fromkeys(NOUNS))
PLURALS = _words(
    """Foxes Wolves Owls Ravens Sparrows Tigers Lions Rabbits Spiders Turtles Lanterns Mirrors Windows Letters Clocks
    Bells Towers Islands Mountains Rivers Shadows Candles Feathers Stones Crowns Trains Roads Hotels Drums
    Dancers Sailors Strangers Neighbors Brothers Sisters Captains Kings Queens Hunters Pilgrims Tailors Clerks
    Roses Tulips Apples Lemons Buttons Needles Ladders Hammers Anchors Engines Wheels Wagons Balloons Kites
    Planets Clouds Storms Dreamers"""
)
TRADES = _words(
    """Steel Glass Paper Textiles Motors Foods Shipping Furniture Chemicals Tools Clocks Boats Toys Shoes Paints Bricks
    Lamps Bicycles Pianos Carpets Tractors Cameras Radios Soaps Ropes Engines Cranes Pumps Tiles Bottles"""
)
SCHOOLS = (
    *_words("University College Academy Institute Gymnasium"),
    *(f"{subject} School" for subject in _words("Music Art Law Business Medical")),
)
COUNTRIES = _words(
    """Arden Belmora Calder Dravia Estonbury Fenmark Galdova Harland Istria Jorvland Kestria Lorvania Merrow Norland
    Ostrava Pellandia Quorra Ravenia Sundland Tamora Ulmaria Valdora Westria Zelland"""
)
INSTRUMENTS = _words("violin piano cello flute guitar harp trumpet drums clarinet banjo organ accordion")
FILM_GENRES = _words("comedy western thriller musical romance horror mystery war crime adventure fantasy documentary")
NOVEL_GENRES = _words("romance mystery western horror fantasy spy satire adventure crime war ghost detective")
MUSIC = _words("jazz rock folk blues pop punk country soul swing metal reggae disco")
GOODS = _words(
    """cheese wool silk glass honey apples salt copper tea pottery lace beer bread coal pearls roses timber clocks
    olives cherries leather soap marble violins"""
)
ANIMALS = _words("owl lion bear falcon wolf swan stag raven horse otter eagle fox turtle tiger hawk bull")

# Roles that works, companies and universities point to come often; with its name, an occupation tells a person apart.
ROLES = ("film director", "actor", "novelist", "engineer", "singer", "professor")
OCCUPATIONS = (*ROLES, *_words("sculptor painter chemist architect swimmer farmer judge pilot botanist surgeon"))
OCCUPATIONS += _words("photographer poet tailor lawyer")
OCCUPATION_ORDER = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    0,
    1,
    2,
    7,
    3,
    4,
    8,
    9,
    0,
    1,
    10,
    2,
    11,
    3,
    12,
    4,
    13,
    14,
    15,
    5,
    16,
    17,
    18,
    19,
)
# Every stem with every ending once, the endings mixed so that any head of the list is varied.
_MADE_SURNAMES = (
    STEMS[i % len(STEMS)] + SURNAME_ENDS[(i + i // len(STEMS)) % len(SURNAME_ENDS)]
    for i in range(len(STEMS) * len(SURNAME_ENDS))
)
ALL_SURNAMES = SURNAMES + tuple(name for name in _MADE_SURNAMES if name not in SURNAMES)


def places(rng: random.Random, count: int, ends: Sequence[str], pattern: str = "{}") -> list[str]:
    """Distinct place names; about a third are another's name with a side of the compass, so that they are confused."""
    stems = [stem + end for stem in STEMS for end in ends]
    base = rng.sample(stems, min(len(stems), -(-count * 2 // 3)))
    sided = rng.sample(range(len(base) * (len(SIDES) - 1)), count - len(base))
    names = base + [f"{SIDES[1 + k % (len(SIDES) - 1)]} {base[k // (len(SIDES) - 1)]}" for k in sided]
    return [pattern.format(name) for name in names]
