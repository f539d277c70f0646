"""Package metadata. README.md says how to install; `make setup` does it in the right order."""

import shutil
from pathlib import Path

from setuptools import find_packages, setup

README = Path(__file__).parent / "README.md"

# setuptools packs all that lies here, modules that have been removed since included.
shutil.rmtree(Path(__file__).parent / "build" / "lib", ignore_errors=True)

setup(
    name="fairseq-outlayers",
    version="0.1.0",
    description="Better, larger and cheaper output layers for fairseq, as a --user-dir plugin",
    long_description=README.read_text(encoding="utf-8") if README.exists() else "",
    long_description_content_type="text/markdown",
    license="MIT",
    # 3.14: hydra 1.3.2 does not start (its issue 3121).
    python_requires=">=3.11,<3.14",
    # Makes an editable installation a folder on sys.path, not an import hook: a hook is asked last,
    # after a checkout in the current folder was taken for a package of that name.
    package_dir={"": "."},
    packages=find_packages(include=["fairseq_outlayers", "fairseq_outlayers.*"]),
    package_data={"fairseq_outlayers": ["py.typed"], "fairseq_outlayers.pages": ["assets/*"]},
    install_requires=[
        # No upper bound and no build tag: a torch that is already there, CPU build or not,
        # satisfies this, so that `pip install .` in a prepared environment fetches nothing big.
        # 2.6 is the first release that loads checkpoints with weights_only=True.
        "torch>=2.6",
        # Where it is missing, install it beforehand with --no-build-isolation (docs/installing.md):
        # otherwise pip fetches a second torch, gigabytes of CUDA included, to compile it.
        "fairseq-fixed==0.12.3.1",
        "numpy",
        "sacrebleu>=2.3",
        "sacremoses",
        "scipy",
        "sentencepiece",
        "subword-nmt",
        # fairseq asks for it at every start where it is missing, and --tensorboard-logdir needs it.
        "tensorboardX",
        "tqdm",
    ],
    extras_require={
        "align": ["eflomal"],
        "embed": ["gensim", "safetensors"],
        "export": ["ctranslate2"],
        "subword": ["pyphen", "morfessor"],
        "report": ["matplotlib"],
        "dev": ["hypothesis", "pytest", "pytest-xdist", "ruff", "mypy"],
    },
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Intended Audience :: Science/Research",
        "License :: OSI Approved :: MIT License",
        "Operating System :: POSIX",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
)
