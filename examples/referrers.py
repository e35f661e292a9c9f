"""Two collectors learn which sites visitors come from; neither of them, nor anybody else, hears a visitor.

Run it with: python examples/referrers.py
"""
# ruff: noqa: T201  # an example prints

from hubbub import BulkRandomWords, Categories, create_survey, find_hitters, mechanism_for, tally_of

SITES = ["search.example", "news.example", "mail.example", "blog.example", "wiki.example"]
HELD_BY = [9_000, 5_000, 3_000, 2_000, 1_000]


def main() -> None:
    """Ask 20,000 visitors, tally them in two places, add the tallies up and print what stands out."""
    survey = create_survey("Where do visitors come from?", Categories(SITES), epsilon=1, expected_reports=20_000)
    mechanism = mechanism_for(survey)
    visitors = [site for site, count in zip(SITES, HELD_BY, strict=True) for _ in range(count)]
    items = survey.domain.encode(visitors)
    random_words = BulkRandomWords().draw(len(items), mechanism.random_words_per_report)

    east = tally_of(mechanism, items[::2], random_words[::2])
    west = tally_of(mechanism, items[1::2], random_words[1::2])
    answer = find_hitters(survey, east + west, top=3)

    print(f"{answer.reports:,} visitors sent {mechanism.report_dtype.itemsize} bytes each, {mechanism.guarantee}.")
    for hitter in answer.hitters:
        print(f"{hitter.value:<16}{hitter.count:>8,.0f}   between {hitter.low:,.0f} and {hitter.high:,.0f}")
    print(f"Sites with fewer than about {answer.detection_limit:,.0f} visitors cannot be seen.")


if __name__ == "__main__":
    main()
