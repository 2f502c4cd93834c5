"""TensorBoard: event files under .posttrain/track/tensorboard, read by `tensorboard --logdir` on that folder."""

import json
import time
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_STRING
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from posttrain.track.run import Run


class EventFiles:
    """A run's folder; each start adds a file."""

    def __init__(self, run: Run) -> None:
        folder = Path(run.folder, "tensorboard", run.project, run.id)
        self.last_step = _last_step(folder) if folder.is_dir() else 0
        self._writer = EventFileWriter(str(folder))
        if not self.last_step:
            self._add(0, _text("config", _table(run)))

    def log(self, step: int, numbers: dict[str, float]) -> None:
        """See `Tracker.log`."""
        self._add(step, *(Summary.Value(tag=name, simple_value=value) for name, value in numbers.items()))

    def close(self, finished: bool) -> None:  # noqa: ARG002  # event files know no state of a run
        """See `Tracker.close`."""
        self._writer.close()

    def _add(self, step: int, *values: Summary.Value) -> None:
        self._writer.add_event(Event(wall_time=time.time(), step=step, summary=Summary(value=values)))
        self._writer.flush()  # so that a full disk shows here, and a reader sees the step at once


def open_run(run: Run) -> EventFiles:
    """Goes on in the run's folder, or makes it."""
    return EventFiles(run)


def _last_step(folder: Path) -> int:
    found = EventAccumulator(str(folder), {"scalars": 1}).Reload()
    steps = [event.step for tag in found.Tags()["scalars"] for event in found.Scalars(tag)]
    return max(steps, default=0)


def _text(tag: str, text: str) -> Summary.Value:
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
    tensor = TensorProto(dtype=DT_STRING, tensor_shape=shape, string_val=[text.encode("utf-8", "replace")])
    plugin = SummaryMetadata.PluginData(plugin_name="text")
    return Summary.Value(tag=tag, metadata=SummaryMetadata(plugin_data=plugin), tensor=tensor)


def _table(run: Run) -> str:
    """The config as a Markdown table, which the page shows as one."""
    rows = [f"| {key} | `{json.dumps(value)}` |" for key, value in run.config.items()]
    return "\n".join([f"| setting | {run.name} |", "|---|---|", *rows])
