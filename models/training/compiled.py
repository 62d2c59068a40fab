"""Compiles the C++ files beside this one when they are first needed, and caches the libraries in the folder for
temporary files."""

import ctypes
import functools
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path


@functools.cache
def library(name):
    """`name`.cpp as a library for ctypes."""
    source = Path(__file__).with_name(f"{name}.cpp")
    built = Path(tempfile.gettempdir()) / f"{name}-{hashlib.sha256(source.read_bytes()).hexdigest()[:16]}.so"
    if not built.exists():
        partial = built.with_suffix(f".{os.getpid()}")
        command = [os.environ.get("CXX", "g++"), "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-std=c++17", "-shared", "-fPIC"]
        subprocess.run([*command, source, "-o", partial], check=True)
        partial.rename(built)
    return ctypes.CDLL(str(built))


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)
