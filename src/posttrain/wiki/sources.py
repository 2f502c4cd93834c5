"""The three sources of questions and paragraphs, chosen by `data.source`."""

from posttrain.wiki.data_settings import DataSettings
from posttrain.wiki.hotpot_files import files_source
from posttrain.wiki.hotpot_hub import hub_source
from posttrain.wiki.miniwiki import MiniwikiSettings, generate
from posttrain.wiki.rows import Source


def open_source(settings: DataSettings) -> Source:
    """The source that the settings name.

    Raises:
        SettingsError: a setting is out of range, or the source needs a package that is not installed.
        DataError: a file that the settings name is missing.
    """
    settings.check()
    if settings.source == "files":
        return files_source(settings)
    if settings.source == "hotpotqa":
        return hub_source(settings)
    return generate(
        MiniwikiSettings(
            paragraphs=settings.paragraphs,
            train=settings.train or 0,
            val=settings.val,
            test=settings.test,
            seed=settings.seed,
            levels=settings.levels,
        )
    )
