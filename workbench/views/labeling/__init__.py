"""Labelling: a person looks through runs and confirms evidence, in a notebook."""

from workbench.views.labeling.widget import LabelingWidget, label

__all__ = ["LabelingWidget", "label"]
