"""`hubbub audit`: checks the privacy of what makes reports, from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hubbub.cli.common import complain, tell
from hubbub.cli.options import DOMAINS, json_option, mechanism_option, options_option
from hubbub.errors import ParameterError

if TYPE_CHECKING:
    from hubbub.audit.certificate import Certificate
    from hubbub.model.survey import Survey

EXIT_ABOVE = 1


@click.command
@click.argument("source", required=False, metavar="[FILE|URL]", help="The survey: a file, or its address.")
@mechanism_option
@click.option("--epsilon", "-e", help="The ε that is claimed; default: what the survey states, or 1.")
@click.option("--domain", default="integers:16", help=f"Without a survey: {DOMAINS}")
@options_option
@click.option("--ci", is_flag=True, help="Exit with code 1, and one sentence, if the loss is above the claim.")
@json_option
def audit(
    source: str | None,
    mechanism: str | None,
    epsilon: str | None,
    domain: str,
    options: dict[str, str],
    ci: bool,
    as_json: bool,
) -> None:
    """Audit a survey, or a mechanism: the exact privacy loss of the code that makes its reports.

    \b
    hubbub audit survey.json --ci
    hubbub audit --mechanism subset --epsilon 2 --domain choices:yes,no

    Runs the library, the client and, where node is found, the browser's module on every class of random words, and
    prints a certificate: the loss, and the two values and the report that attain it.
    """  # noqa: D301  # \b keeps the examples' lines apart in the help text
    from hubbub.audit.certificate import certify
    from hubbub.model.numbers import parse_epsilon

    survey = _survey(source, mechanism, epsilon, domain, options)
    certificate = certify(survey, None if epsilon is None else parse_epsilon(epsilon))
    tell(as_json, certificate.to_document(), _text(certificate))
    if ci and certificate.failed:
        complain(certificate.failed)
        raise click.exceptions.Exit(EXIT_ABOVE)


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
            ]
        lines.append(
            f"  FAILED      {each['failed_check']}: {each['sentence']}" if each["failed_check"] else "  within      yes"
        )
    lines += [
        "",
        *(f"{each['name']} was not run: {each['reason']}." for each in document["missing"]),
        document["method"],
    ]
    return "\n".join(lines)
