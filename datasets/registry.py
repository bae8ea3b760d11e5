"""The data sets there are. A new one is one module with a `build`, one line here and one file in conf/dataset/."""

from datasets import cifar10, digits, informative_tokens, marker, mnist, newsgroups, sequences
from datasets.arrays import Source

SOURCES: dict[str, Source] = {
    "cifar10": Source("image", cifar10.build),
    "fashion_mnist": Source("image", mnist.build_fashion_mnist),
    "kmnist": Source("image", mnist.build_kmnist),
    "twenty_newsgroups": Source("tokens", newsgroups.build),
    "marker": Source("tokens", marker.build),
    "digits": Source("image", digits.build),
    "informative_tokens": Source("vectors", informative_tokens.build),
    "sequences": Source("sequences", sequences.build),
}
