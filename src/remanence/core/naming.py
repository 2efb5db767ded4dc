"""Names for agents: two friendly words when nobody gives one, and what a given one may hold."""

import random
import unicodedata

from remanence.errors import Invalid

MAX_NAME_CHARS = 200

_FIRST = """
Able Agile Airy Alert Amber Ample Apt Ardent Autumn Balmy Bold Bonny Brave Breezy Bright Brisk Bubbly
Calm Candid Cheery Chipper Civil Clear Clever Cosmic Cosy Crisp Curious Dapper Daring Dear Deft Dewy
Eager Early Earnest Easy Elated Fabled Fair Famous Fancy Fearless Festive Fluent Fond Frank Fresh Frosty
Gallant Game Gentle Gifted Glad Gleaming Golden Good Graceful Grand Handy Happy Hardy Hearty Honest
Humble Ideal Jaunty Jolly Jovial Joyful Keen Kind Learned Light Lively Lucid Lucky Lunar Lush Mellow
Merry Mighty Mild Mindful Misty Modest Neat Nimble Noble Novel Open Patient Peaceful Perky Placid Playful
Plucky Poised Polar Polite Prime Proud Quick Quiet Radiant Ready Robust Rosy Ruby Rustic Sage Serene
Sharp Silken Silver Sincere Smart Smooth Snappy Snug Solar Sound Spry Stellar Steady Sunny Sweet Swift
Tender Tidy Trusty Upbeat Velvet Vernal Vivid Warm Wise Witty Zesty
"""

_SECOND = """
Acorn Alder Antler Apricot Aspen Badger Balsam Beacon Beech Birch Bison Bramble Brook Buttercup Cedar Cello
Cherry Cloud Clover Cobalt Comet Compass Coral Cove Cricket Crocus Cygnet Daisy Dolphin Dove Dune Egret
Elm Ember Falcon Fawn Fern Fiddle Finch Fjord Flute Forest Fox Gale Garnet Gecko Glacier Grove Gull Harbor
Hare Hazel Heron Hollow Ibis Iris Island Ivy Jasmine Jay Juniper Kestrel Kite Koala Lagoon Lantern Larch
Lark Lemur Lichen Lilac Linden Lotus Lynx Magpie Maple Marten Meadow Meteor Mint Moss Myrtle Newt Oak
Ocelot Olive Onyx Opal Orchid Oriole Osprey Otter Owl Panda Pebble Pelican Peony Petrel Pine Plover Plum
Pony Poppy Puffin Quail Quartz Quill Raven Reed Reef Ridge River Robin Rowan Saffron Sequoia Shore Sloth
Sparrow Spruce Starling Stork Summit Sunflower Swallow Swan Tamarin Tern Thistle Thrush Tiger Topaz Toucan
Tulip Valley Violet Walnut Walrus Warbler Willow Wombat Wren Yak Yarrow Zebra Zephyr
"""

FIRST_WORDS = tuple(_FIRST.split())
SECOND_WORDS = tuple(_SECOND.split())

_MARKS = frozenset(" _-'")
_JOINERS = frozenset("\u200c\u200d")
"""Invisible, but part of the spelling in Persian and in Indic scripts."""


def new_agent_name(dice: random.Random | None = None) -> str:
    """Two words in CamelCase, like `NimbleOtter`. Names need not be unique."""
    choose = (dice or random).choice
    return choose(FIRST_WORDS) + choose(SECOND_WORDS)


def check_agent_name(name: str) -> None:
    """Raises Invalid unless the name is made of letters of any script, digits, spaces and `_ - '`."""
    if not name.strip():
        raise Invalid("An agent's name cannot be empty")
    if len(name) > MAX_NAME_CHARS:
        raise Invalid(f"An agent's name has at most {MAX_NAME_CHARS} characters, not {len(name)}")
    wrong = list(dict.fromkeys(char for char in name if not _may_stand_in_name(char)))
    if wrong:
        shown = ", ".join(repr(char) for char in wrong[:5])
        raise Invalid(
            f"An agent's name holds letters, digits, spaces and _ - ' only: {shown} cannot be in it"
        )


def _may_stand_in_name(char: str) -> bool:
    # Letters and digits, and the marks (vowel signs, accents) that many scripts write letters with.
    return char in _MARKS or char in _JOINERS or unicodedata.category(char)[0] in "LMN"
