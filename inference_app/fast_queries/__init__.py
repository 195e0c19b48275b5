"""Queries embedded by onnxruntime: the same model and the same vectors as torch's, in a fraction of the time.

Nothing here may fail a search. Where a model cannot be exported, or its export is not exact, torch answers.
"""
