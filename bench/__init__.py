"""The harness: one run is data flowing once through config, arrays, model, record."""

from bench.sources import ROOT as ROOT  # before all else: the source is read before it is imported
