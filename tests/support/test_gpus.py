"""Peaks by the names that torch gives."""

import pytest

from mtkit.support.gpus import peak_operations


@pytest.mark.parametrize(
    ("name", "precision", "peak"),
    [
        ("NVIDIA H200", "bfloat16", 989e12),
        ("NVIDIA H100 80GB HBM3", "bfloat16", 989e12),
        ("NVIDIA H100 PCIe", "bfloat16", 756e12),
        ("NVIDIA A100-SXM4-80GB", "tf32", 156e12),
        ("NVIDIA A10", "float32", 31.2e12),
        ("NVIDIA A10G", "float32", None),
        ("NVIDIA L40S", "float16", 362e12),
        ("NVIDIA L40", "float16", None),
        ("NVIDIA L4", "float16", 121e12),
        ("Tesla V100-SXM2-16GB", "bfloat16", None),
        ("Tesla T4", "float16", 65e12),
        ("NVIDIA GeForce RTX 4090", "bfloat16", 165.2e12),
        ("NVIDIA H100 NVL", "bfloat16", None),
        ("something else", "float32", None),
    ],
)
def test_a_gpu_is_known_by_its_name(name: str, precision: str, peak: float | None) -> None:
    assert peak_operations(name, precision) == peak
