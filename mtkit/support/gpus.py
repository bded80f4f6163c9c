"""What GPUs can do at best, as their maker says. Comes in: a name as torch tells it. Goes out: operations a second, or None.

From NVIDIA's data sheets: matrix products of dense (not sparse) numbers on tensor cores with sums in float32; float32 itself
on the ordinary cores. None where a GPU has no such arithmetic, or is not in the table.
"""

import re

PEAKS = {
    r"H200|GH200|H100(?!.*(PCIe|NVL))": {"bfloat16": 989e12, "float16": 989e12, "tf32": 494e12, "float32": 67e12},
    r"H100.*PCIe": {"bfloat16": 756e12, "float16": 756e12, "tf32": 378e12, "float32": 51e12},
    r"A100": {"bfloat16": 312e12, "float16": 312e12, "tf32": 156e12, "float32": 19.5e12},
    r"A40": {"bfloat16": 149.7e12, "float16": 149.7e12, "tf32": 74.8e12, "float32": 37.4e12},
    r"A10": {"bfloat16": 125e12, "float16": 125e12, "tf32": 62.5e12, "float32": 31.2e12},
    r"RTX A6000": {"bfloat16": 154.8e12, "float16": 154.8e12, "tf32": 77.4e12, "float32": 38.7e12},
    r"L40S": {"bfloat16": 362e12, "float16": 362e12, "tf32": 183e12, "float32": 91.6e12},
    r"L4": {"bfloat16": 121e12, "float16": 121e12, "tf32": 60e12, "float32": 30.3e12},
    r"V100.*SXM2": {"float16": 125e12, "float32": 15.7e12},
    r"T4": {"float16": 65e12, "float32": 8.1e12},
    r"RTX 4090": {"bfloat16": 165.2e12, "float16": 165.2e12, "tf32": 82.6e12, "float32": 82.6e12},
    r"RTX 3090": {"bfloat16": 71e12, "float16": 71e12, "tf32": 35.6e12, "float32": 35.6e12},
}
"""Operations a second by a pattern of the name and by precision."""


def peak_operations(name: str, precision: str) -> float | None:
    """Floating-point operations a second of the GPU that torch calls `name`, in `precision`; None if that is not known."""
    for pattern, peaks in PEAKS.items():
        if re.search(rf"(?<!\w)(?:{pattern})(?!\w)", name):
            return peaks.get(precision)
    return None
