"""The Transformer in small exchangeable parts: tensors in, tensors out. Knows nothing of text, files or training.

Shapes, in every file here: B sentences, S source tokens, T target tokens, D = d_model, H heads, K = D / H, V pieces.
"""
