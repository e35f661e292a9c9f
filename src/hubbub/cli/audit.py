"""`hubbub audit`: checks the privacy of what makes reports, from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hubbub.cli.common import complain, parse_count, progress, tell
from hubbub.cli.options import DOMAINS, json_option, mechanism_option, options_option
from hubbub.errors import ParameterError

if TYPE_CHECKING:
    from hubbub.audit.certificate import Certificate
    from hubbub.model.survey import Survey

EXIT_ABOVE = 1
COMMAND_DRAWS = 100_000


@click.command
@click.argument("source", required=False, metavar="[FILE|URL]", help="The survey: a file, or its address.")
@mechanism_option
@click.option("--epsilon", "-e", help="The ε that is claimed; default: what the survey states, or 1.")
@click.option("--domain", default="integers:16", help=f"Without a survey: {DOMAINS}")
@options_option
@click.option("--draws", help="Also play a guessing game with so many reports of each of two values, such as 1m.")
@click.option("--command", help="Instead of a survey: a program that reads values and prints a report for each.")
@click.option("--values", help="Two values for the program, with a comma between them.")
@click.option("--ci", is_flag=True, help="Exit with code 1, and one sentence, if the loss is above the claim.")
@json_option
def audit(
    source: str | None,
    mechanism: str | None,
    epsilon: str | None,
    domain: str,
    options: dict[str, str],
    draws: str | None,
    command: str | None,
    values: str | None,
    ci: bool,
    as_json: bool,
) -> None:
    """Audit a survey, or a mechanism: the exact privacy loss of the code that makes its reports.

    \b
    hubbub audit survey.json --ci
    hubbub audit --mechanism subset --epsilon 2 --domain choices:yes,no
    hubbub audit --command './my-client' --values tea,coffee --epsilon 1 --ci

    Runs the library, the client and, where node is found, the browser's module on every class of random words, and
    prints a certificate: the loss, and the two values and the report that attain it. With --draws somebody who sees
    only reports guesses which of the two values made them. A program of your own is audited by this game alone.
    """  # noqa: D301  # \b keeps the examples' lines apart in the help text
    from hubbub.audit.certificate import certify
    from hubbub.model.numbers import parse_epsilon

    number = 0 if draws is None else parse_count("draws", draws)
    if command is not None:
        if source is not None or mechanism is not None:
            raise ParameterError("an audit must be of a survey, of a --mechanism or of a --command, got several")
        failed = _audit_command(command, values, epsilon, number or COMMAND_DRAWS, as_json)
    elif values is not None:
        raise ParameterError("--values must come with --command, got them alone")
    else:
        survey = _survey(source, mechanism, epsilon, domain, options)
        claim = None if epsilon is None else parse_epsilon(epsilon)
        with progress("guessing", 2 * number, "reports") as advance:
            certificate = certify(survey, claim, number, advance)
        tell(as_json, certificate.to_document(), _text(certificate))
        failed = certificate.failed
    if ci and failed:
        complain(failed)
        raise click.exceptions.Exit(EXIT_ABOVE)


def _audit_command(command: str, values: str | None, epsilon: str | None, draws: int, as_json: bool) -> str:
    """Play with a program of the user's; what is wrong, if anything."""
    from hubbub.audit.certificate import above, played_document
    from hubbub.audit.exact import Fault
    from hubbub.audit.game import check_fresh, of_command, play
    from hubbub.model.numbers import parse_epsilon

    pair = (values or "").split(",")
    if len(pair) != 2 or pair[0] == pair[1] or "\n" in (values or ""):
        raise ParameterError(f"--values must be two different values with a comma between them, got {values!r}")
    claim = parse_epsilon(epsilon or "1")
    document: dict[str, Any] = {"command": command, "epsilon": format(claim, "f"), "values": pair, "played": None}
    draw, check, sentence = of_command(command, pair), "", ""
    try:
        check_fresh(draw)
        with progress("guessing", 2 * draws, "reports") as advance:
            played = play(draw, draws, advance)
        document["played"] = played_document(played)
        sentence = above(played, claim)
        check = "game" if sentence else ""
    except Fault as fault:
        check, sentence = fault.check, str(fault)
    document |= {"within": not check, "failed_check": check or None, "sentence": sentence or None}
    lines = [f"command {command}, claimed ε = {claim:f}, {pair[0]!r} against {pair[1]!r}", *_game(document["played"])]
    lines.append(f"  FAILED      {check}: {sentence}" if check else "  refuted     no, by this game with these values")
    tell(as_json, document, "\n".join(lines))
    return f"the command fails the check {check!r}: {sentence}" if check else ""


def _game(played: dict[str, Any] | None) -> list[str]:
    """A guessing game in lines for people."""
    if played is None:
        return []
    shares = " and ".join(f"{hit:,} of {all_:,}" for hit, all_ in zip(played["hits"], played["tested"], strict=True))
    return [f"  guessed     loss of at least {played['loss_at_least']:.4f}, by the {played['part']}: {shares}"]


def _survey(
    source: str | None, mechanism: str | None, epsilon: str | None, domain: str, options: dict[str, str]
) -> Survey:
    """The survey that is named, or a new one of a mechanism."""
    from hubbub.cli.domains import parse_domain
    from hubbub.cli.service import read_survey
    from hubbub.mechanisms.registry import create_survey

    if (source is None) == (mechanism is None):
        raise ParameterError(
            "an audit must be of a survey or of a --mechanism, got " + ("both" if source else "neither")
        )
    if source is not None:
        return read_survey(source)
    return create_survey("audit", parse_domain(domain), epsilon or "1", mechanism=mechanism, options=options)


def _text(certificate: Certificate) -> str:
    """The certificate in lines for people."""
    document = certificate.to_document()
    lines = [
        f"Certificate of survey {document['survey_id']}",
        f"mechanism {document['mechanism']}, claimed ε = {document['epsilon']}, hubbub {document['version']}",
    ]
    for each in document["implementations"]:
        lines += ["", f"{each['name']}: sources {each['sources']}"]
        if each["pair"] is not None:
            lines += [
                f"  exact loss  {each['loss'] or 'infinite'}" + (f" = ln({each['ratio']})" if each["ratio"] else ""),
                f"  attained    {each['pair'][0]!r} against {each['pair'][1]!r}, report {each['report']}",
                f"  tried       {each['values']} values, {each['ids']} ids of {each['rows']} rows, "
                f"{each['runs']:,} reports",
                *_game(each["played"]),
            ]
        lines.append(
            f"  FAILED      {each['failed_check']}: {each['sentence']}" if each["failed_check"] else "  within      yes"
        )
    lines += [
        "",
        *(f"{each['name']} was not run: {each['reason']}." for each in document["missing"]),
        *(f"SHA-256 of {each['name']}: {each['sha256']}" for each in document["scripts"]),
        document["method"],
    ]
    return "\n".join(lines)
