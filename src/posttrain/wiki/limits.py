"""What a recipe's numbers do not show, by where the questions came from."""

WORLDS = {
    "miniwiki": "The world is generated and its questions are simple: the numbers show that the method works, not that "
    "the model knows anything about the real world.",
    "hotpotqa": "HotpotQA has been public since 2018: the base model may have seen questions and answers in its own "
    "training, which lifts the numbers before and after.",
}
ONE_SEED = "One training seed. Another would give another model, and the intervals do not cover that."
