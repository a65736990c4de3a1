"""The only torch, sentence-transformers and onnxruntime code."""
