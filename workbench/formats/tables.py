"""Tables of text (CSV) with named columns, read row by row with the place of each value for messages."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import inf, isfinite

from workbench.errors import CapacityError, InputError
from workbench.model.job_log import MOST_SECONDS

__all__ = ["Row", "read_table", "unpacked"]

_MOST = 1 << 40
#: A file of some hundred bytes may unpack to terabytes.
_MOST_UNPACKED = 1 << 30

#: Lines of a table: the largest public trace of jobs of a cluster has 1.3 million, and a row takes a kilobyte.
_MOST_ROWS = 1_500_000


class Row:
    """One row of a table.

    `fields`: text of each column.
    """

    def __init__(self, fields: Mapping[str, str], source: str, line: int) -> None:
        self._fields, self._source, self._line = fields, source, line

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the table's columns, in their order."""
        return tuple(self._fields)

    def text(self, column: str) -> str:
        """Text of a column without blanks around it; empty if the table has no such column."""
        return (self._fields.get(column) or "").strip()

    def number(self, column: str, most: int = _MOST) -> int:
        """A whole number from 0 to `most`; raises InputError for anything else."""
        text = self.text(column)
        number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else -1
        if not 0 <= number <= most:
            raise self.wrong(column, text or "nothing", f"a whole number from 0 to {most}")
        return number

    def seconds(self, column: str) -> float:
        """Seconds from 0 to `MOST_SECONDS`, decimals allowed; raises InputError for anything else."""
        return self.amount(column, "seconds", MOST_SECONDS)

    def amount(self, column: str, unit: str, most: float = inf) -> float:
        """A number from 0 to `most`, decimals allowed; raises InputError for anything else.

        `unit`: what is counted, for the error.
        """
        text = self.text(column)
        try:
            number = float(text) if text.isascii() and "_" not in text else -1.0
        except ValueError:
            number = -1.0
        if not (isfinite(number) and 0 <= number <= most):
            raise self.wrong(column, text or "nothing", f"{unit} from 0 {'on' if most == inf else f'to {most:g}'}")
        return number

    def time(self, column: str, example: str) -> datetime:
        """A time in ISO 8601, such as `example`; without a zone UTC is taken, as only differences of times count."""
        text = self.text(column)
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            raise self.wrong(column, text or "nothing", f"a time such as {example}") from None
        return time if time.tzinfo else time.replace(tzinfo=UTC)

    def wrong(self, column: str, got: str, expected: str) -> InputError:
        """The error that a value of a column is not what it should be.

        `got`, `expected`: the value found and the values allowed.
        """
        where = f"line {self._line}, {column}"
        message = "not a value of this column"
        found = repr(got[:60]) if got == self.text(column) else got[:60]
        return InputError(message, source=self._source, where=where, got=found, expected=expected)


def unpacked(content: bytes, source: str, most: int = _MOST_UNPACKED) -> bytes:
    """The content of a file, unpacked if it is compressed by gzip; raises InputError for a broken or too large one.

    `source`: name of the file, for errors. `most`: bytes that it may have when unpacked.
    """
    if content[:2] != b"\x1f\x8b":
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            data = file.read(most + 1)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(f"cannot be read, not gzip: {error}", source=source) from None
    if len(data) > most:
        raise InputError("too large when unpacked", source=source, expected=f"at most {most:,} bytes")
    return data


def read_table(content: bytes, source: str, columns: Sequence[str], *, delimiter: str = ",") -> Iterator[Row]:
    """Yield the rows of a table whose first line names the columns.

    `content`: UTF-8 text. `source`: name of the file, for errors. `columns`: columns that the table must have; it may
    have others. `delimiter`: what separates the fields. Quotes have a meaning beside commas only. Raises CapacityError:
    more than 1.5 million lines; InputError: not UTF-8, not CSV, a column of `columns` that is missing, a row with too
    few or too many fields.
    """
    # Before anything is read, because the rows before the last one would fill the memory.
    if content.count(b"\n") > _MOST_ROWS + 1:
        raise CapacityError(f"{source}: more than {_MOST_ROWS:,} lines; cut the table to a part of its time")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8", source=source, where=f"byte {error.start}") from None
    lines = io.StringIO(text)
    if delimiter == ",":
        reader = csv.DictReader(lines, strict=True)
    else:
        reader = csv.DictReader(lines, strict=True, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    try:
        names = [name.strip() for name in reader.fieldnames or ()]
        missing = [name for name in columns if name not in names]
        if missing or len(set(names)) < len(names):
            message = f"no column {missing[0]}" if missing else "a column twice"
            got, expected = delimiter.join(names)[:60] or "nothing", ", ".join(columns)
            raise InputError(message, source=source, where="line 1", got=got, expected=expected)
        reader.fieldnames = names
        for fields in reader:
            if None in fields or None in fields.values():
                where, expected = f"line {reader.line_num}", f"{len(names)} fields"
                raise InputError("not a row of the table", source=source, where=where, expected=expected)
            yield Row(fields, source, reader.line_num)
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", source=source, where=f"line {reader.line_num}") from None
