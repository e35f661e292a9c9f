"""What the shipped tables are for: few bits for what people write, and room for all of it."""

from __future__ import annotations

import pytest

from hubbub import CodedText, Hostnames, Words
from hubbub.codes.shipped import LANGUAGES, load_code
from hubbub.model.coded_domain import WIDTHS

# Everyday words, and bounds for their mean bits: in the table of the language, and in the one for several.
EVERYDAY = {
    "de": ("frühstück düsseldorf geschwindigkeit straße größe mädchen kühlschrank donnerstag natürlich übung", 35, 45),
    "en": ("breakfast speed child life weather thursday friendship because kitchen yesterday newspaper", 30, 35),
    "es": ("desayuno velocidad niño mañana corazón también español jueves amistad ciudad pequeño teléfono", 27, 34),
    "fr": ("déjeuner vitesse enfant français fenêtre élève hôpital garçon développement jeudi amitié", 29, 37),
    "it": ("colazione velocità bambino perché città giovedì amicizia famiglia università ragazza", 27, 36),
    "nl": ("ontbijt snelheid kind vriendschap donderdag geschiedenis ziekenhuis koelkast natuurlijk fiets", 28, 38),
    "pl": ("życie śniadanie prędkość dziecko książka czwartek przyjaźń miłość szczęście", 29, 36),
    "pt": ("velocidade criança coração amanhã informação não quinta-feira amizade cidade pequeno avião", 26, 31),
    "sv": ("frukost hastighet barn kärlek torsdag vänskap sjukhus kylskåp trädgård människa", 29, 37),
    "tr": ("çocuk kahvaltı hız öğretmen güneş perşembe arkadaşlık buzdolabı değişiklik teşekkürler", 33, 39),
}

# 40 to 64 characters of ordinary text.
LONG = [
    "https://www.example.org/blog/2024/05/how-to-find-heavy-hitters",
    "https://github.com/some-organisation/some-repository/issues/1234",
    "http://shop.example.co.uk/category/shoes?colour=red&size=42",
    "https://de.wikipedia.org/wiki/geschwindigkeit_(begriffsklärung)",
    "alexandra.konstantinidou-papadopoulou@mail.university-example.eu",
    "christopher_montgomery1984@customer-service.example-company.com",
    "the quick brown fox jumps over the lazy dog and runs away again",
    "Rheinische Friedrich-Wilhelms-Universität Bonn, Philosophie",
    "Universidad Nacional Autónoma de México, Facultad de Química",
    "Wyższa Szkoła Informatyki i Zarządzania w Rzeszowie, Polska",
    "İstanbul Üniversitesi Fen Fakültesi Öğrenci İşleri Müdürlüğü",
]


def mean_bits(domain: CodedText, values: list[str]) -> float:
    """Bits of a value."""
    return sum(domain.code_length(value) or 0 for value in values) / len(values)


@pytest.mark.parametrize("language", LANGUAGES)
def test_everyday_words(language: str) -> None:
    """Everyday words of each language have few bits, more in the table for several, and are read back."""
    words, alone, together = EVERYDAY[language]
    values = words.split()
    assert mean_bits(Words(language), values) <= alone
    assert mean_bits(Words(), values) <= together
    for domain in (Words(language), Words()):
        assert domain.decode(domain.encode(values)) == values


def test_a_language_is_for_its_own_words() -> None:
    """The table of a language is the best one for its words."""
    for language, (words, _, _) in EVERYDAY.items():
        assert min(LANGUAGES, key=lambda other: mean_bits(Words(other), words.split())) == language


@pytest.mark.parametrize("value", LONG)
def test_long_texts_fit(value: str) -> None:
    """64 characters of URLs, addresses and titles have a code that fits."""
    assert 40 <= len(value) <= 64
    domain = CodedText(load_code("text"), "text-1", WIDTHS["text-1"])
    assert domain.decode(domain.encode([value])) == [domain.normal_bytes(value).decode()]


def test_long_words_and_hosts_fit() -> None:
    """Words of more than thirty letters fit, and long hosts."""
    word = "donaudampfschifffahrtsgesellschaft"
    for domain in (Words("de"), Words()):
        assert domain.decode(domain.encode([word])) == [word]
    hosts = ["students.informatik.uni-muenchen.de", "gymnasium-marbach.schule.de", "user-documents.s3.example.com"]
    assert Hostnames().decode(Hostnames().encode(hosts)) == hosts


def test_digits_and_separators_are_not_dear() -> None:
    """Identifiers have fewer than 6.5 bits a character, and words beyond ASCII fewer than ten."""
    code = load_code("text")
    for text in ("user-account-00a", "order_2024_000123", "2024-05-17", "v1.12.3", "name=17", "10.0.0.1"):
        assert code.length(text.encode()) < 6.5 * len(text)
    for text in ("düsseldorf", "życie", "çocuk", "москва", "αθήνα"):
        assert code.length(text.encode()) < 10 * len(text)
