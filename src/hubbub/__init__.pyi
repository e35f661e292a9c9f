"""Every public name and its home: what type checkers and editors see, and what `__init__.py` loads from."""

from hubbub.analysis.answer import Answer as Answer
from hubbub.analysis.asking import find_hitters as find_hitters
from hubbub.analysis.planning import Plan as Plan
from hubbub.analysis.planning import plan as plan
from hubbub.analysis.protocol import run_protocol as run_protocol
from hubbub.analysis.question import Question as Question
from hubbub.analysis.trend import Trend as Trend
from hubbub.analysis.trending import trend as trend
from hubbub.codes.text_code import TextCode as TextCode
from hubbub.errors import HubbubError as HubbubError
from hubbub.errors import InputError as InputError
from hubbub.errors import ParameterError as ParameterError
from hubbub.errors import PrivacyError as PrivacyError
from hubbub.errors import SurveyMismatch as SurveyMismatch
from hubbub.errors import WireError as WireError
from hubbub.files.job import tally_files as tally_files
from hubbub.files.tallying import tally_reports as tally_reports
from hubbub.finding import find as find
from hubbub.inputs.encoding import encode_column as encode_column
from hubbub.mechanisms.registry import create_survey as create_survey
from hubbub.mechanisms.registry import load_survey as load_survey
from hubbub.mechanisms.registry import mechanism_for as mechanism_for
from hubbub.model.coded_domain import CodedText as CodedText
from hubbub.model.coded_domain import Hostnames as Hostnames
from hubbub.model.coded_domain import Text as Text
from hubbub.model.coded_domain import Words as Words
from hubbub.model.domain import Bytes as Bytes
from hubbub.model.domain import Categories as Categories
from hubbub.model.domain import Domain as Domain
from hubbub.model.domain import Hex as Hex
from hubbub.model.domain import Integers as Integers
from hubbub.model.domain import IPv4 as IPv4
from hubbub.model.domain import UUIDs as UUIDs
from hubbub.model.estimates import Estimates as Estimates
from hubbub.model.estimates import Group as Group
from hubbub.model.estimates import Guess as Guess
from hubbub.model.estimates import Hitter as Hitter
from hubbub.model.estimates import Intake as Intake
from hubbub.model.mechanism import Histogram as Histogram
from hubbub.model.mechanism import Mechanism as Mechanism
from hubbub.model.mechanism import tally_of as tally_of
from hubbub.model.privacy import PrivacyGuarantee as PrivacyGuarantee
from hubbub.model.survey import Survey as Survey
from hubbub.model.tally import Tally as Tally
from hubbub.name_lists import names as names
from hubbub.numeric.randomness import BulkRandomWords as BulkRandomWords
from hubbub.numeric.randomness import OSRandomWords as OSRandomWords
from hubbub.numeric.randomness import ReplayedRandomWords as ReplayedRandomWords
from hubbub.numeric.randomness import SeededRandomWords as SeededRandomWords
from hubbub.wire.tally_file import merge as merge
from hubbub.wire.tally_file import parse_tally as parse_tally
from hubbub.wire.tally_file import read_tally as read_tally
from hubbub.wire.tally_file import write_tally as write_tally

__version__: str
__all__: list[str]
