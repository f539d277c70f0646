import ast

import pytest

from fairseq_outlayers.checkpoints.literals import evaluate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[(512, 3)] * 20", [(512, 3)] * 20),
        ("[(512, 10, 5)] + [(512, 3, 2)] * 4", [(512, 10, 5)] + [(512, 3, 2)] * 4),
        ("(0.9, 0.98)", (0.9, 0.98)),
        ("20000,60000", (20000, 60000)),
        ("True", True),
        ("not False", True),
        ("None", None),
        (" -1.5e-3 ", -0.0015),
        ("2 ** 10 // 3 % 7", 2**10 // 3 % 7),
        ("{'fused': 'x', 'n': {1, 2}}", {"fused": "x", "n": {1, 2}}),
    ],
)
def test_literals_and_arithmetic_have_the_value_that_python_gives_them(text, value):
    assert evaluate(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').mkdir('x')",
        "open('x', 'w')",
        "[x for x in (1,)]",
        "(lambda: 1)()",
        "().__class__",
        "f'{1}'",
        "[1][0]",
        "a",
        "1 if 1 else 2",
        "1 < 2",
        "(x := 1)",
        "{**{}}",
        "[*(1,)]",
        "'%s' % 1",
        "import os",
        "",
    ],
)
def test_everything_else_is_refused_before_it_runs(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"^it is"):
        evaluate(text)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    [
        "9 ** 9 ** 9",
        "[0] * 10 ** 12",
        "10 ** 12 * 'a'",
        "[[[[0] * 99] * 99] * 99] * 99",
        "(" * 5000 + ")" * 5000,
        "-" * 9000 + "1",
        "+".join(["1"] * 9000),
        "1" * 30000,
        "1 << 999",
        "1 / 0",
        "'a' + 1",
        "{[]}",
    ],
)
def test_what_would_be_huge_or_fail_is_refused(text):
    with pytest.raises(ValueError, match=r"^it "):
        evaluate(text)


def test_what_is_no_text_is_a_type_error_as_fairseq_expects_of_eval():
    with pytest.raises(TypeError):
        evaluate(True)


def test_no_operator_of_python_is_forgotten_or_allowed_unseen():
    from fairseq_outlayers.checkpoints import literals

    refused = {ast.LShift, ast.RShift, ast.BitOr, ast.BitXor, ast.BitAnd, ast.MatMult}
    assert set(literals.BINARY) | refused == set(ast.operator.__subclasses__())
