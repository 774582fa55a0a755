#!/usr/bin/env python3
"""Makes the .npy files of this folder, with NumPy 1.24. Run once; the tests read what it made."""
import numpy as np
from numpy.lib import format as npy

def save(name, array, version=None):
    with open(name, "wb") as file:
        npy.write_array(file, array, version=version)

for code in ("f4", "f8", "i4", "i8"):
    # 3 × 4: -5, -4.5, …
    save(f"{code}.npy", (np.arange(12).reshape(3, 4) / 2 - 5).astype("<" + code))
for version in ((2, 0), (3, 0)):
    save(f"version{version[0]}.npy", np.arange(5, dtype="<i4"), version)
save("rank0.npy", np.array(2.5, "<f8"))
save("rank1.npy", np.array([7], "<i8"))
save("rank8.npy", np.arange(12, dtype="<f4").reshape(1, 2, 1, 3, 1, 1, 2, 1))
save("rank9.npy", np.zeros((1,) * 9, "<f4"))
save("fortran.npy", np.asfortranarray(np.arange(6, dtype="<f4").reshape(2, 3)))
save("big_endian.npy", np.arange(3, dtype=">f8"))
save("objects.npy", np.array([None, "a"], object))
save("half.npy", np.arange(3, dtype="<f2"))
save("structures.npy", np.zeros(2, [("a", "<f4"), ("b", "<i4")]))
save("empty.npy", np.zeros((0, 3), "<f4"))
