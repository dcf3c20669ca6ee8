"""A direct reader of SQLite's tables: needed columns of a whole table as numpy arrays, as fast as SQL can add one up.

It knows the file format (https://sqlite.org/fileformat2.html) and nothing of what tables mean. SQLite steps from row to
row; here the leaf pages of a table are decoded some hundreds at a time, each step for all of their rows at once, on
threads that numpy lets run side by side:

    file      header, and what makes pages alone tell less than all (`NotCovered`); reading pages
    btree     from a table's root page to the list of its leaf pages
    pages     a page's header and cell pointers
    cells     where each row's record lies, within its page
    overflow  records that go on elsewhere, put together where a wanted column needs it
    layout    where columns lie in the records
    columns   values, as what they are wanted
    texts     distinct texts of a column
    table     chunks, threads, and rows that nobody wants

Two answers are no data. `NotCovered`: SQL must read this table, and its answer is right. `Damaged`: the file
contradicts itself. Both may come at any chunk, and then nothing that was read before stands. Every position is checked
before anything is read there; a damaged file never yields fewer rows in silence.

    with PageFile(path) as file:
        table = file.table(root)  # the `rootpage` of sqlite_master
        names = Texts()
        wanted = {"start": Wanted(0, "int"), "text": Wanted(6, "text")}
        for chunk in table.chunks(wanted, {"text": names}):
            chunk["start"].values, [names.values[code] for code in chunk["text"].values if code >= 0]
"""

from nsysparse.pages.refusals import Damaged, NotCovered
from nsysparse.pages.table import Keep, PageFile, Table
from nsysparse.pages.texts import Texts
from nsysparse.pages.wanted import ROWID, Column, Kind, Wanted

__all__ = ["ROWID", "Column", "Damaged", "Keep", "Kind", "NotCovered", "PageFile", "Table", "Texts", "Wanted"]
