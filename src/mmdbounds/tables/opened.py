"""Whatever holds a table becomes a DataFrame, with the name of its file where it came from one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mmdbounds.errors import DataError
from mmdbounds.tables import frames
from mmdbounds.tables.csvtext import check_encoding
from mmdbounds.tables.matching import as_text
from mmdbounds.tables.phrases import option, shown

if TYPE_CHECKING:
    import narwhals.stable.v1 as nw


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A DataFrame and, if it came from one, its file.

    Attributes
    ----------
    frame
        The rows.
    name, sha256, read_as
        Name and hash of the file, and in words how it was read; `None` for other tables.
    """

    frame: nw.DataFrame[Any]
    name: str | None = None
    sha256: str | None = None
    read_as: str | None = None

    @property
    def subject(self) -> str:
        """The table, as messages call it."""
        return "`data`" if self.name is None else shown(self.name)

    def texts(self, column: str) -> list[str]:
        """Return the cells of a column as they are printed."""
        return [as_text(cell) for cell in frames.cells(self.frame[column])]

    def row_names(self, id_: str | None) -> NDArray[np.str_] | None:
        """Return the names of all rows: those of the id column, else the index of a pandas DataFrame."""
        if id_ is None:
            return frames.index_labels(self.frame)
        return np.array(self.texts(id_), dtype=np.str_)


def open_table(data: Any, text: Collection[Any], na: Collection[str], encoding: str | None) -> Table:
    """Return a table from a file, a DataFrame or a mapping of columns.

    Parameters
    ----------
    data
        What a user handed in.
    text
        Columns of a CSV file to be kept as they are printed.
    na
        Words for missing cells, beside the usual ones.
    encoding
        Encoding of a text file.
    """
    from mmdbounds.tables.files import is_file, load_file

    if is_file(data):
        kept = [str(name) for name in text if name is not None]
        file = load_file(data, text=kept, na=na, encoding=encoding)
        return Table(frames.as_frame(file.frame, "data"), file.name, file.sha256, file.read_as)
    if not (isinstance(data, Mapping) or frames.is_frame(data)):
        msg = (
            "`data` must be a DataFrame or the name of a CSV, Parquet, Arrow or JSON lines file; "
            f"got {type(data).__name__}. Arrays go to `mmd_bounds(X, Y, ...)` directly."
        )
        raise DataError(msg)
    if check_encoding(encoding) is not None:
        msg = f"{option('encoding')} goes with files; got {shown(encoding)} with a DataFrame. Leave it out."
        raise DataError(msg)
    as_frame = frames.columns_frame if isinstance(data, Mapping) else frames.as_frame
    frame = as_frame(data, "data")
    if not len(frame):
        msg = "`data` has no rows."
        raise DataError(msg)
    return Table(frame)
