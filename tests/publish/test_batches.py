"""Work at batches in parallel, within a limit of rows."""

import threading

import pytest

from hwprices.publish.arrange import AT_ONCE, in_parallel, packed


class Work:
    """Counts the rows and batches that are in work at the same time."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.most_rows = self.most_batches = 0
        self._lock = threading.Lock()

    def __call__(self, batch: int) -> int:
        with self._lock:
            self.rows.append(batch)
            self.most_rows = max(self.most_rows, sum(self.rows))
            self.most_batches = max(self.most_batches, len(self.rows))
        threading.Event().wait(0.01)
        with self._lock:
            self.rows.remove(batch)
        return -batch


BATCHES = [3, 4, 20, 2, 5, 5, 6, 1, 9]


def test_results_come_in_the_order_of_the_batches() -> None:
    assert list(in_parallel(Work(), BATCHES)) == [-batch for batch in BATCHES]


def test_batches_in_work_have_a_limit_together_and_a_larger_one_is_alone() -> None:
    work = Work()
    results = list(in_parallel(work, BATCHES, rows=lambda batch: batch, most=10))
    assert results == [-batch for batch in BATCHES]
    assert work.most_rows == 20
    assert work.most_batches <= AT_ONCE
    small = Work()
    list(in_parallel(small, [3, 4, 2, 5, 5, 6, 1, 9], rows=lambda batch: batch, most=10))
    assert small.most_rows <= 10


def test_what_fails_in_a_batch_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        list(in_parallel(lambda batch: 1 // batch, [1, 0, 2]))


def test_regions_are_packed_in_their_order_up_to_a_number_of_rows() -> None:
    counts = {"c": 9, "a": 3, "b": 2, "d": 1}
    assert list(packed(counts, 5)) == [["a", "b"], ["c"], ["d"]]
    with pytest.raises(ValueError, match="0 rows"):
        list(packed(counts, 0))
