"""Training a LoRA adapter with peft: gradients of summed losses, AdamW with Tinker's defaults."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
from tinker import AdamParams, Datum, ForwardBackwardOutput, OptimStepResponse, TensorData
from transformers import DynamicCache

from posttrain.engine.local.adapter import Adapter, Tensors, lora_config, paths_in, save_checkpoint
from posttrain.engine.local.load import load_model, split
from posttrain.engine.local.loss import INPUTS, check_loss, signal, token_loss
from posttrain.engine.local.packing import Pack, pack
from posttrain.engine.local.sampler import LocalSampler, MergedModel
from posttrain.engine.local.worker import compute
from posttrain.engine.protocol import SavedPaths
from posttrain.engine.settings import EngineSettings
from posttrain.errors import EngineError
from posttrain.ledger.places import checkpoints_dir


def new_trainer(settings: EngineSettings, merged: MergedModel, rank: int, seed: int) -> "LocalTrainer":
    """A fresh adapter on a model of its own; `seed` draws its random half."""
    model = load_model(settings)
    with torch.random.fork_rng(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft's use of transformers, nothing that a user could mend
        torch.manual_seed(seed)
        peft_model = get_peft_model(model.causal, lora_config(rank))
    return LocalTrainer(peft_model, model.device, merged, settings)


class LocalTrainer:
    """One adapter in training. Its samplers use `merged`; it saves into the user's cache directory."""

    def __init__(
        self, peft_model: PeftModel, device: torch.device, merged: MergedModel, settings: EngineSettings
    ) -> None:
        self._peft, self._merged, self._settings = peft_model, merged, settings
        self._model = split(peft_model.get_base_model(), device)
        self._parameters = {n: p for n, p in peft_model.named_parameters() if p.requires_grad}
        self._adam = torch.optim.AdamW(self._parameters.values(), lr=0.0, weight_decay=0.0, foreach=False)
        self._steps = 0

    async def forward_backward(self, data: Sequence[Datum], loss_fn: str) -> ForwardBackwardOutput:
        """Adds the gradient of the summed loss.

        Returns:
            Per datum, `logprobs` (T,) of the targets that are taught, 0 at the others (the head is not applied there),
            and the metric `loss:sum`.
        """
        check_loss(loss_fn)
        return await compute(self._forward_backward, data, loss_fn)

    async def optim_step(self, adam: AdamParams) -> OptimStepResponse:
        """One AdamW step (Loshchilov and Hutter 2019) on the gradients gathered so far."""
        return await compute(self._optim_step, adam)

    async def save(self, name: str) -> SavedPaths:
        """Saves adapter and optimizer as `state`, the adapter alone as `sampler`."""
        return await compute(self._save, name)

    async def sampler(self) -> LocalSampler:
        """The policy as it is now."""
        return LocalSampler(self._merged, self._adapter(), self._settings.batch_rows)

    def restore(self, adapter: Adapter, optimizer: tuple[Tensors, int] | None) -> None:
        """Puts saved weights in place and, if given, AdamW's state (`<parameter>.exp_avg`, `.exp_avg_sq`) and steps."""
        set_peft_model_state_dict(self._peft, adapter.tensors)
        if optimizer is None:
            return
        moments, self._steps = optimizer
        for name, parameter in self._parameters.items():
            self._adam.state[parameter] = {
                "step": torch.tensor(float(self._steps)),
                "exp_avg": moments[f"{name}.exp_avg"].to(parameter),
                "exp_avg_sq": moments[f"{name}.exp_avg_sq"].to(parameter),
            }

    def _forward_backward(self, data: Sequence[Datum], loss_fn: str) -> ForwardBackwardOutput:
        tokens = [datum.model_input.to_ints() for datum in data]
        inputs = [
            {key: datum.loss_fn_inputs[key].to_torch() for key in ("target_tokens", *INPUTS[loss_fn])} for datum in data
        ]
        taught = [row[signal(loss_fn)].nonzero()[:, 0] for row in inputs]
        logprobs = [torch.zeros(len(row)) for row in tokens]
        busy = [i for i, positions in enumerate(taught) if len(positions)]
        first = [int(taught[i][0]) if self._model.blockwise else 0 for i in busy]
        total = 0.0
        for chosen in pack([tokens[i] for i in busy], first, self._settings.micro_batch_tokens):
            members = [busy[m] for m in chosen.members]
            total += self._backward(chosen, members, tokens, inputs, taught, loss_fn, logprobs)
        outputs = [{"logprobs": TensorData.from_torch(row)} for row in logprobs]
        return ForwardBackwardOutput("TensorData", outputs, {"loss:sum": total})

    def _backward(
        self,
        chosen: Pack,
        members: Sequence[int],
        tokens: Sequence[Sequence[int]],
        inputs: Sequence[Mapping[str, torch.Tensor]],
        taught: Sequence[torch.Tensor],
        loss_fn: str,
        logprobs: Sequence[torch.Tensor],
    ) -> float:
        """One pass over a pack; writes the taught targets' log probabilities and returns the summed loss."""
        hidden = self._hidden(chosen, [tokens[m] for m in members])  # (members, width, model)
        rows = torch.cat([torch.full_like(taught[m], r) for r, m in enumerate(members)])
        positions = torch.cat([taught[m] for m in members])
        device = hidden.device
        logits = self._model.head(hidden[rows.to(device), (positions - chosen.prefix).to(device)]).float()
        gathered = {
            key: torch.cat([inputs[m][key][taught[m]] for m in members]).to(device)
            for key in ("target_tokens", *INPUTS[loss_fn])
        }
        target_logprobs = -torch.nn.functional.cross_entropy(logits, gathered.pop("target_tokens"), reduction="none")
        loss = token_loss(loss_fn, target_logprobs, gathered)
        if not torch.isfinite(loss):
            raise EngineError(f"the {loss_fn} loss is {loss.item()}; lower the learning rate (sft.lr or grpo.lr)")
        torch.autograd.backward(loss)
        parts = torch.split(target_logprobs.detach().cpu(), [len(taught[m]) for m in members])
        for m, part in zip(members, parts, strict=True):
            logprobs[m][taught[m]] = part
        return loss.item()

    def _hidden(self, chosen: Pack, tokens: Sequence[Sequence[int]]) -> torch.Tensor:
        """Hidden states after the common prefix, which is computed once: (members, width, model)."""
        device = self._model.device
        cache = None
        if chosen.prefix:
            cache = DynamicCache()
            self._model.body(
                input_ids=torch.tensor([tokens[0][: chosen.prefix]], device=device), cache=cache, use_cache=True
            )
            cache.batch_repeat_interleave(len(tokens))
        ids = torch.zeros(len(tokens), chosen.width, dtype=torch.long)
        for row, values in enumerate(tokens):
            ids[row, : len(values) - chosen.prefix] = torch.tensor(values[chosen.prefix :])
        # Padding stands on the right: under a causal mask no taught token sees it.
        output = self._model.body(input_ids=ids.to(device), cache=cache, use_cache=cache is not None)
        hidden: torch.Tensor = output.last_hidden_state
        return hidden

    def _optim_step(self, adam: AdamParams) -> OptimStepResponse:
        for group in self._adam.param_groups:
            group.update(
                lr=adam.learning_rate, betas=(adam.beta1, adam.beta2), eps=adam.eps, weight_decay=adam.weight_decay
            )
        for parameter in self._parameters.values():
            if parameter.grad is None:  # nothing was taught; AdamW would pass it over and its step count fall behind
                parameter.grad = torch.zeros_like(parameter)
        limit = adam.grad_clip_norm or float("inf")
        norm = torch.nn.utils.clip_grad_norm_(self._parameters.values(), limit)
        self._adam.step()
        self._adam.zero_grad()
        self._steps += 1
        return OptimStepResponse(metrics={"grad_norm": float(norm)})

    def _adapter(self) -> Adapter:
        state = get_peft_model_state_dict(self._peft)
        rank = self._peft.peft_config["default"].r
        return Adapter(rank, {name: tensor.detach().clone() for name, tensor in state.items()})

    def _save(self, name: str) -> SavedPaths:
        moments: Tensors = {}
        for parameter_name, parameter in self._parameters.items():
            state: dict[str, Any] = self._adam.state.get(parameter) or {}
            for key in ("exp_avg", "exp_avg_sq"):
                moments[f"{parameter_name}.{key}"] = state.get(key, torch.zeros_like(parameter))
        saved = paths_in(checkpoints_dir() / name)
        save_checkpoint(Path(saved.sampler), "sampler", self._settings.model, self._adapter())
        save_checkpoint(Path(saved.state), "state", self._settings.model, self._adapter(), moments, self._steps)
        return saved
