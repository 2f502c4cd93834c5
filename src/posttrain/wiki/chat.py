"""The chat format of the model that params.yaml names: what turns stored tokens back into text."""

from posttrain.chat.format import ChatFormat
from posttrain.engine.local.load import load_tokenizer
from posttrain.engine.settings import EngineSettings
from posttrain.settings import load


def open_chat() -> ChatFormat:
    """Loads the tokenizer alone, no weights.

    Raises:
        SettingsError: params.yaml is missing or wrong.
        EngineError: the model's tokenizer cannot be had.
        TemplateError: its chat template does not fit.
    """
    return ChatFormat.of(load_tokenizer(load("engine", EngineSettings).model))
