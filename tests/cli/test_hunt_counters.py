"""What ./cairn hunt counters draws and how it compares: without a server."""

from random import Random

from tests.hunt import counters
from tests.hunt.counters import Stories, Story, compare
from tests.hunt.session import Answer

STORY = Story(
    "CREATE TABLE c (n TINYINT NOT NULL AUTO_INCREMENT) ENGINE={engine} AUTO_INCREMENT=127",
    ("INSERT INTO c VALUES (NULL, 1, 1)", "DELETE FROM c", "INSERT INTO c VALUES (NULL, 2, 1)"),
)
FULL = Answer(error=167)
ROW = Answer(("127,1,1",))


def test_a_seed_draws_the_same_again_and_all_types_and_keys():
    assert [Stories(Random(1)).story() for _ in range(3)] == [
        Stories(Random(1)).story() for _ in range(3)
    ]
    stories = Stories(Random(2))
    text = "\n".join(story.create for story in (stories.story() for _ in range(400)))
    for needed in (*counters.TYPES, *counters.KEYS):
        assert f"{needed}" in text, needed


def test_answers_and_rows_are_compared_statement_by_statement():
    done = Answer(changed=1)
    right = [done, ROW, done, Answer(), FULL, Answer()]
    assert compare(STORY, right, right) == ("", 0)
    again = [*right[:4], done, ROW]
    assert compare(STORY, right, again) == (
        "INSERT INTO: an answer in place of error 167",
        2,
    )
    kept = [*right[:3], ROW, *right[4:]]
    assert compare(STORY, right, kept) == ("DELETE FROM: rows: rows too many", 1)
    twice = [Answer(changed=2), *right[1:]]
    assert compare(STORY, right, twice) == ("INSERT INTO: another number of changed rows", 0)


def test_a_story_shrinks_to_the_statements_that_matter():
    def fails(story):
        return "DELETE FROM c" in story.statements

    small = counters.shrink(STORY, Story.smaller, fails, 10)
    assert small.statements == ("DELETE FROM c",)
    assert small.script("ROCKSDB") == [
        "CREATE TABLE c (n TINYINT NOT NULL AUTO_INCREMENT) ENGINE=ROCKSDB",
        "DELETE FROM c",
        counters.LOOK,
    ]
