"""Variables in the memory of templates."""

from remanence.core.template import fill_variables, find_variables


def test_variables_are_found_each_once_in_order() -> None:
    assert find_variables(["{{b}} and {{ a }}", "{{b}} {{ no good }} {a} {{}}"]) == ["b", "a"]


def test_variables_are_filled_and_what_has_no_value_stays() -> None:
    text = "{{name}} of {{ city }} likes {{fruit}}; {{name}}."
    filled = fill_variables(text, {"name": "Una", "city": r"R\1me {{fruit}}", "more": "x"})
    assert filled == r"Una of R\1me {{fruit}} likes {{fruit}}; Una."
