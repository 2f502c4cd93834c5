"""MLflow: the server of MLFLOW_TRACKING_URI, else a database file that `mlflow ui --backend-store-uri` shows."""

import os
import time
from pathlib import Path

from mlflow import MlflowClient
from mlflow.entities import Metric, Param

from posttrain.track.run import Run

TAG = "posttrain.run"
"""MLflow gives out the ids of runs itself, so ours is a tag."""
_AT_A_TIME = 100
_LONGEST = 6000


class MlflowRun:
    """A run in the experiment that has the project's name."""

    def __init__(self, run: Run) -> None:
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "3")
        server = os.environ.get("MLFLOW_TRACKING_URI")
        folder = Path(run.folder)
        folder.mkdir(parents=True, exist_ok=True)
        self._client = MlflowClient(tracking_uri=server or f"sqlite:///{folder / 'mlflow.db'}")
        experiment = self._client.get_experiment_by_name(run.project)
        if experiment is None:
            files = None if server else (folder / "mlflow-files").as_uri()
            number = self._client.create_experiment(run.project, artifact_location=files)
        else:
            number = experiment.experiment_id
        found = self._client.search_runs([number], f"tags.`{TAG}` = '{run.id}'", max_results=1)
        self._id = found[0].info.run_id if found else self._new(number, run)
        self._client.update_run(self._id, status="RUNNING")
        histories = [self._client.get_metric_history(self._id, key) for key in (found[0].data.metrics if found else ())]
        self.last_step = max((metric.step for history in histories for metric in history), default=0)

    def log(self, step: int, numbers: dict[str, float]) -> None:
        """See `Tracker.log`."""
        now = round(time.time() * 1000)
        self._client.log_batch(self._id, metrics=[Metric(name, value, now, step) for name, value in numbers.items()])

    def close(self, finished: bool) -> None:
        """See `Tracker.close`."""
        self._client.set_terminated(self._id, "FINISHED" if finished else "KILLED")

    def _new(self, experiment: str, run: Run) -> str:
        made: str = self._client.create_run(experiment, run_name=run.name, tags={TAG: run.id}).info.run_id
        # Only once: MLflow refuses a later value, and a setting that changes no result may have another by then.
        params = [Param(key, str(value)[:_LONGEST]) for key, value in run.config.items()]
        for start in range(0, len(params), _AT_A_TIME):
            self._client.log_batch(made, params=params[start : start + _AT_A_TIME])
        return made


def open_run(run: Run) -> MlflowRun:
    """Goes on with the run that carries this id, or begins it."""
    return MlflowRun(run)
