"""What all tests share. Runs before torch is imported, so that the settings reach it and every process that tests start."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # the tensors of the tests are too small to share
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
